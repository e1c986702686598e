import Foundation
import MutantWeaving
import Testing

/// How a switched-off check is compiled in beside the original.
@Suite struct WeavingTests {
    private func woven(_ source: String, _ changes: (String, String)..., isC: Bool = false) throws -> [Substring] {
        let mutants = changes.enumerated().map { index, change in mutant("\(index)", change.0, change.1) }
        var text = try Weaving(source, mutants, isC: isC).source
        for (index, mutant) in mutants.enumerated() {
            text = text.replacing("\(mutant.number)", with: "#\(index)")
        }
        return text.split { $0.isWhitespace }.filter { !["/*", "*/", "mutant"].contains($0) }
    }

    private func mutant(_ name: String, _ find: String, _ replace: String) -> Mutant {
        Mutant(name: name, file: "file", find: find, replace: replace, filter: "Tests")
    }

    private func words(_ text: String) -> [Substring] { text.split { $0.isWhitespace } }

    @Test func aBodyIsDoubled() throws {
        let source = "struct A { func f() -> Int { one() } }"
        let expected = "struct A { func f() -> Int { if sallyportMutant == #0 { #0 two() } else { 0 one() } } }"
        #expect(try woven(source, ("one", "two")) == words(expected))
    }

    @Test func severalMutantsOfABodyStandInARow() throws {
        let source = "func f() { one(); two() }"
        let expected = """
            func f() { if sallyportMutant == #0 { #0 0(); two() } else
            if sallyportMutant == #1 { #1 one(); 0() } else { 0 one(); two() } }
            """
        #expect(try woven(source, ("one", "0"), ("two", "0")) == words(expected))
    }

    @Test func onlyTheInnermostBlockIsDoubled() throws {
        let source = "func f() { if a { b() } c() }"
        let expected = """
            func f() { if sallyportMutant == #1 { #1 if a { b() } d() } else
            { 0 if a { if sallyportMutant == #0 { #0 x() } else { 0 b() } } c() } }
            """
        #expect(try woven(source, ("b()", "x()"), (" c()", " d()")) == words(expected))
    }

    @Test func aClosuresParametersComeBeforeTheChoice() throws {
        let source = "func f() { g { [weak self] one, two in for x in y { } ; a } }"
        let expected = """
            func f() { g { [weak self] one, two in if sallyportMutant == #0 { #0 for x in y { } ; b } else
            { 0 for x in y { } ; a } } }
            """
        #expect(try woven(source, ("; a", "; b")) == words(expected))
    }

    @Test func aClosuresArgumentsAreChangedOutsideIt() throws {
        let source = "func f() { g { one in one.a } }"
        let expected = """
            func f() { if sallyportMutant == #0 { #0 g { _ in true } } else { 0 g { one in one.a } } }
            """
        #expect(try woven(source, ("one in one.a", "_ in true")) == words(expected))
    }

    @Test func casesAndAccessorsAreNoBodies() throws {
        let source = "var a: Int { get { switch b { case .one: 1 } } }"
        let expected = """
            var a: Int { get { if sallyportMutant == #0 { #0 switch b { case .one: 2 } } else
            { 0 switch b { case .one: 1 } } } }
            """
        #expect(try woven(source, (": 1", ": 2")) == words(expected))
    }

    @Test func bracesInTextsAndCommentsAreNone() throws {
        let source = ##"func f() { a("{\(g { "}" })", #"\"{"#) /* { /* } */ */ + b } // {"##
        let expected = ##"""
            func f() { if sallyportMutant == #0 { #0 a("{\(g { "}" })", #"\"{"#) { /* } + c } else
            { 0 a("{\(g { "}" })", #"\"{"#) { /* } + b } } // {
            """##
        #expect(try woven(source, ("+ b", "+ c")).filter { $0 != "/*" } == words(expected).filter { $0 != "/*" })
    }

    @Test func anInitialValueIsChosen() throws {
        let source = "struct A {\n    static let a: Set = [\n        1, 2,\n    ]\n    let b = 3\n}"
        let expected = """
            struct A { static let a: Set = sallyportMutant == #0 ? ( #0 [ 1, 3, ] ) : ( 0 [ 1, 2, ] ) let b = 3 }
            """
        #expect(try woven(source, (" 2,", " 3,")) == words(expected))
    }

    @Test func aBodyOfCIsDoubled() throws {
        let source = "struct a { int b; };\nint f(char c) { return c == '{'; }\n"
        let text = try Weaving(source, [mutant("0", "'{'", "'}'")], isC: true).source
        let number = mutant("0", "", "").number
        #expect(text.contains("if (sallyport_mutant() == \(number)u) { /* mutant \(number) */\n return c == '}';"))
        #expect(text.contains("} else { /* mutant 0 */\n return c == '{';"))
    }

    @Test func aCheckStandsOnceAndWithinOneBody() {
        #expect(throws: Drift.self) { try woven("func f() { a }", ("b", "c")) }
        #expect(throws: Drift.self) { try woven("func f() { a + a }", ("a", "c")) }
        #expect(throws: Drift.self) { try woven("struct A { case a }", ("a }", "b }")) }
        #expect(throws: Drift.self) {
            try woven("func f() { a }\nfunc g() { b }", ("a }\nfunc g() { b", "0 }\nfunc g() { 0"))
        }
    }

    @Test func aLineTellsItsMutant() throws {
        let change = mutant("0", "b", "x")
        let text = try Weaving("func f() {\n    a\n    b\n}\n", [change], isC: false).source
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let changed = try #require(lines.firstIndex { $0.contains("x") })
        let original = try #require(lines.firstIndex { $0.hasSuffix("    b") })
        #expect(Weaving.number(atLine: changed + 1, of: text) == change.number)
        #expect(Weaving.number(atLine: original + 1, of: text) == nil)
        #expect(Weaving.number(atLine: 1, of: "func f() {}") == nil)
    }
}
