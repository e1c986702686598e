import Foundation

/// A source with its mutants compiled in beside the original; the environment chooses one at run time.
///
/// The body that contains a mutant's change is duplicated: if the mutant is chosen, the changed copy runs, else the
/// original. In an initial value, both are the branches of a conditional expression.
package struct Weaving {
    /// The environment's name for the number of the mutant that is chosen.
    package static let variable = "SALLYPORT_MUTANT"

    private let bytes: [UInt8]
    private let isC: Bool
    private let sites: [Site]

    /// - Parameter mutants: all mutants of one file.
    /// - Throws: ``Drift`` for a mutant that cannot be compiled in at its place.
    package init(_ source: String, _ mutants: [Mutant], isC: Bool) throws {
        let bytes = Array(source.utf8)
        let blocks = Blocks(bytes, isC: isC)
        (self.bytes, self.isC) = (bytes, isC)
        sites = try mutants.map { try Site($0, in: bytes, blocks, isC: isC) }
    }

    package var source: String {
        let text = String(decoding: woven(0..<bytes.count, sites), as: UTF8.self)
        return isC ? Self.choiceInC + text : text
    }

    private func woven(_ range: Range<Int>, _ sites: [Site]) -> [UInt8] {
        let inside = Dictionary(grouping: sites, by: \.range)
        var (text, position) = ([UInt8](), range.lowerBound)
        for (place, here) in inside.sorted(by: {
            ($0.key.lowerBound, -$0.key.count) < ($1.key.lowerBound, -$1.key.count)
        })
        where place.lowerBound >= position {
            let deeper = sites.filter { $0.range != place && place.contains($0.range) }
            text += bytes[position..<place.lowerBound]
            text += here[0].form == .statements ? statements(place, here, deeper) : expression(place, here, deeper)
            position = place.upperBound
        }
        return text + bytes[position..<range.upperBound]
    }

    private func statements(_ range: Range<Int>, _ here: [Site], _ deeper: [Site]) -> [UInt8] {
        var text: [UInt8] = []
        for site in here {
            let condition = isC ? "(sallyport_mutant() == \(site.number)u)" : "sallyportMutant == \(site.number)"
            text +=
                Array(" if \(condition) { \(Self.marker(site.number))\n".utf8) + changed(site) + Array("\n} else".utf8)
        }
        return text + Array(" { \(Self.marker(0))\n".utf8) + woven(range, deeper) + Array("\n}\n".utf8)
    }

    private func expression(_ range: Range<Int>, _ here: [Site], _ deeper: [Site]) -> [UInt8] {
        var text: [UInt8] = []
        for site in here {
            text += Array("sallyportMutant == \(site.number) ? ( \(Self.marker(site.number))\n".utf8) + changed(site)
            text += Array("\n) : ".utf8)
        }
        return text + Array("( \(Self.marker(0))\n".utf8) + woven(range, deeper) + Array("\n)".utf8)
    }

    private func changed(_ site: Site) -> [UInt8] {
        bytes[site.range.lowerBound..<site.core.lowerBound] + site.replacement
            + bytes[site.core.upperBound..<site.range.upperBound]
    }
}

extension Weaving {
    /// What a module whose sources are woven reads the choice with, in a file of its own.
    package static let choice = """
        internal import Glibc

        /// The number of the check that is switched off; 0 for none.
        let sallyportMutant: UInt32 = getenv("\(variable)").flatMap { UInt32(String(cString: $0)) } ?? 0

        """

    /// On one line and without an #include: the source's own macros that configure headers must still come first.
    private static let choiceInC = """
        extern char *getenv(const char *); extern unsigned long strtoul(const char *, char **, int); \
        static unsigned sallyport_mutant(void) \
        { const char *text = getenv("\(variable)"); return text ? (unsigned)strtoul(text, 0, 10) : 0; }

        """

    private static func marker(_ number: UInt32) -> String { "/* mutant \(number) */" }

    /// The number of the mutant to which a line of a woven source belongs; nil outside of mutants.
    ///
    /// - Parameter line: from 1.
    package static func number(atLine line: Int, of woven: String) -> UInt32? {
        let before = woven.split(separator: "\n", omittingEmptySubsequences: false).prefix(line)
        let last = before.last { $0.contains("/* mutant ") }
        return last?.matches(of: /\/\* mutant ([0-9]+) \*\//).last.flatMap { UInt32($0.output.1) }.flatMap {
            $0 == 0 ? nil : $0
        }
    }
}

extension Range<Int> {
    fileprivate func contains(_ other: Range<Int>) -> Bool {
        lowerBound <= other.lowerBound && other.upperBound <= upperBound
    }
}
