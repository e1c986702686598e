import HTTPTypes
import Testing

@testable import SallyportCache

/// RFC 9111 §4.1: which values of a field that `Vary` names are equivalent.
@Suite struct FieldValueTests {
    private func isSame(_ name: HTTPField.Name, _ one: [String], _ other: [String]) -> Bool {
        FieldValue.normalized(one, of: name) == FieldValue.normalized(other, of: name)
    }

    @Test(arguments: [
        (["gzip, br"], ["br, gzip"]), (["gzip", "br"], ["gzip,br"]), (["GZip;Q=1.0"], ["gzip"]),
        (["gzip ; q=0.50"], ["gzip;q=0.5"]), (["gzip;q=0"], ["gzip;q=0.000"]), (["gzip,, br,"], ["gzip, br"]),
    ])
    func codingsMeanTheSame(_ one: [String], _ other: [String]) { #expect(isSame(.acceptEncoding, one, other)) }

    @Test(arguments: [
        (["gzip"], ["br"]), (["gzip;q=0.5"], ["gzip"]), (["gzip;q=0.5"], ["gzip;q=0.05"]), (["gzip;q=2"], ["gzip"]),
        (["gzip;q=0"], ["gzip"]), ([""], ["gzip"]), (["gzip;q=0.1234"], ["gzip;q=0.123"]),
    ])
    func codingsThatDifferAreNotTheSame(_ one: [String], _ other: [String]) {
        #expect(!isSame(.acceptEncoding, one, other))
    }

    @Test func orderCountsWhereServersReadIt() {
        #expect(!isSame(.acceptLanguage, ["de, fr"], ["fr, de"]))
        #expect(isSame(.acceptLanguage, ["de-CH , fr;q=0.8"], ["DE-ch", "fr;q=0.80"]))
        #expect(!isSame(.accept, ["text/html, text/plain"], ["text/plain, text/html"]))
    }

    /// Quoted text is a value, including its commas, semicolons, spaces and case.
    @Test func quotedValuesAreLeftAlone() {
        #expect(!isSame(.accept, ["text/html;x=\"a, b\""], ["text/html;x=\"a,b\""]))
        #expect(!isSame(.accept, ["text/html;x=\"A\""], ["text/html;x=\"a\""]))
        #expect(!isSame(.accept, ["text/html;x=\"a\\\", b\""], ["text/html;x=\"a\\\",b\""]))
        #expect(isSame(.accept, ["TEXT/html ;X=\"a, b\",*/*"], ["text/html;x=\"a, b\" , */*"]))
        #expect(!isSame(.accept, ["text/html;x=\"a, b"], ["text/html;x=\"a,b"]), "A quote without an end.")
    }

    /// Of other fields only one rule is known: several lines are a list.
    @Test func otherFieldsAreComparedAsTheyAre() {
        let name = HTTPField.Name.custom("x-a")
        #expect(isSame(name, ["a", "b"], ["a, b"]) && isSame(name, [" a"], ["a "]))
        #expect(!isSame(name, ["a,b"], ["a, b"]) && !isSame(name, ["A"], ["a"]) && !isSame(name, ["b, a"], ["a, b"]))
        #expect(!isSame(.cookie, ["a=\"x, y\""], ["a=\"x,y\""]) && !isSame(.userAgent, ["x (a  b)"], ["x (a b)"]))
    }
}
