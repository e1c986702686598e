internal import SallyportCore

/// A chain of inflaters, the coding that was applied last first: encoded bytes in, decoded pieces out.
struct BodyDecoder: ~Copyable {
    private var layers: [Layer] = []
    private let limit: InflationLimit
    private var encodedBytes = 0

    private final class Layer {
        var inflater: Inflater
        /// What the layer above this one in the chain has handed over and this one has not read.
        var input: [UInt8] = []
        var offset = 0
        var produced = 0
        init(_ coding: ContentCoding) { inflater = Inflater(coding) }
    }

    init(codings: [ContentCoding], limit: InflationLimit) {
        self.limit = limit
        layers = codings.reversed().map(Layer.init)
    }

    /// Takes a chunk; every piece of the one before has been taken out.
    mutating func received(_ chunk: [UInt8]) {
        encodedBytes += chunk.count
        layers[0].input = chunk
        layers[0].offset = 0
    }

    /// The next decoded piece; nil if more input is needed.
    ///
    /// - Throws: `decodingFailed` if the coding is broken or the body grows beyond the limit.
    mutating func nextPiece() throws(LoadError) -> [UInt8]? {
        var level = layers.count - 1
        while true {
            if let piece = try inflate(layers[level]) {
                guard level + 1 < layers.count else { return piece }
                layers[level + 1].input = piece
                layers[level + 1].offset = 0
                level += 1
            } else if level > 0 {
                level -= 1
            } else {
                return nil
            }
        }
    }

    /// Nothing more comes.
    ///
    /// - Throws: `decodingFailed` if a layer is not at its end. A body of no bytes at all is empty, whatever its
    ///   codings: servers send such answers.
    func ended() throws(LoadError) {
        guard encodedBytes > 0 else { return }
        guard layers.allSatisfy({ $0.inflater.isAtEnd }) else {
            throw LoadError(.decodingFailed, at: .response, "The body ends within its content coding.")
        }
    }

    private func inflate(_ layer: Layer) throws(LoadError) -> [UInt8]? {
        while layer.offset < layer.input.count || layer.inflater.mayHoldOutput {
            let piece = try layer.inflater.inflate(layer.input, from: &layer.offset)
            guard !piece.isEmpty else { continue }
            layer.produced += piece.count
            guard layer.produced <= limit.longest(for: encodedBytes) else {
                throw LoadError(.decodingFailed, at: .response, "The decoded body grows beyond its limit.")
            }
            return piece
        }
        return nil
    }
}
