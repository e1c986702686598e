internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// H(entity-body) for `auth-int` (RFC 7616 §3.4.3): in hexadecimal digits.
enum BodyHash {
    /// The longest file that is hashed.
    static let longestFile = ByteCount.mebibytes(64)

    /// - Returns: nil for a body that can be read only once: it cannot be hashed before it is sent.
    /// - Throws: ``LoadError/Code/requestBodyFailed`` if the producer threw an error; ``LoadError/Code/fileSystem``;
    ///   ``LoadError/Code/cancelled`` if the task was cancelled.
    static func of(
        _ body: RequestBody?, _ function: DigestAlgorithm.Function
    ) async throws(LoadError) -> [UInt8]? {
        guard let body else { return function.hash([]) }
        switch body.source {
        case .bytes(let bytes): return function.hash(bytes)
        case .file(let path): return try await of(file: path, function)
        case .stream(false, _): return nil
        case .stream(true, let produce): return try await of(stream: produce, function)
        }
    }

    @concurrent
    private static func of(
        file path: String, _ function: DigestAlgorithm.Function
    ) async throws(LoadError) -> [UInt8] {
        var hash = RunningDigest(function)
        do throws(BoundedFile.Failure) {
            try BoundedFile.forEachPiece(of: path, upTo: longestFile.bytes) { hash.update($0) }
        } catch {
            throw LoadError(
                .fileSystem, at: .request, "The body's file cannot be read, or is longer than \(longestFile).",
                underlying: error)
        }
        return hash.digits
    }

    private static func of(
        stream produce: @escaping @Sendable (RequestBodyWriter) async throws -> Void,
        _ function: DigestAlgorithm.Function
    ) async throws(LoadError) -> [UInt8] {
        let pipe = BodyPipe()
        let result: Result<[UInt8], LoadError> = await withTaskGroup(of: Void.self) { group in
            group.addTask { await pipe.fill(by: produce) }
            defer { group.cancelAll() }
            do throws(LoadError) {
                var hash = RunningDigest(function)
                while let chunk = try await pipe.next() { hash.update(chunk) }
                return .success(hash.digits)
            } catch {
                pipe.discard()
                return .failure(error)
            }
        }
        return try result.get()
    }
}

/// The body of an answer with a server's proof of its hash: it ends in an error if the hash differs (RFC 7616 §3.5).
actor VouchedBody: BodySource {
    private nonisolated let body: ResponseBody
    private var hash: RunningDigest
    private let isGood: @Sendable ([UInt8]) -> Bool

    init(
        _ body: ResponseBody, function: DigestAlgorithm.Function, _ isGood: @escaping @Sendable ([UInt8]) -> Bool
    ) {
        self.body = body
        hash = RunningDigest(function)
        self.isGood = isGood
    }

    func next() async throws(LoadError) -> [UInt8]? {
        if let chunk = try await body.next() {
            hash.update(chunk)
            return chunk
        }
        guard isGood(hash.digits) else { throw DigestSignature.failure }
        return nil
    }

    nonisolated func discard() { body.discard() }
    nonisolated var trailers: HTTPFields? { body.trailers }
}
