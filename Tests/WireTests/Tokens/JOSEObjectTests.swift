import SallyportWire
import Testing

@Suite("Objects of JOSE") struct JOSEObjectTests {
    private func read(_ text: String) throws(WireError) -> JOSEObject { try JOSEObject(parsing: Array(text.utf8)) }

    @Test("Every kind of value is read") func values() throws {
        let object = try read(
            #" {"s":"a","i":-12,"z":0,"f":1.5,"e":1e3,"b":true,"c":false,"n":null,"a":[1,"x"],"o":{"k":"v"}} "#)
        #expect(object["s"] == .string("a") && object["i"] == .integer(-12) && object["z"] == .integer(0))
        #expect(object["f"] == .number && object["e"] == .number && object["b"] == .bool(true))
        #expect(object["c"] == .bool(false) && object["n"] == .null && object["x"] == nil)
        #expect(object["a"] == .array([.integer(1), .string("x")]))
        #expect(try object["o"] == .object(read(#"{"k":"v"}"#)))
    }

    @Test(
        "Escapes are undone",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), (#""\u0041\u00e9""#, "A\u{e9}"),
            (#""\ud83d\ude00""#, "\u{1f600}"), (#""a\u0000b""#, "a\u{0}b"), ("\"\u{1f600}é\"", "\u{1f600}é"),
        ])
    func escapes(written: String, value: String) throws {
        #expect(try read(#"{"a":\#(written)}"#)["a"] == .string(value))
    }

    @Test(
        "What is not one object of JSON is refused",
        arguments: [
            "", "[]", "1", "{", "{}x", "{}{}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{a:1}"#, #"{"a":01}"#,
            #"{"a":-}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":1e}"#, #"{"a":+1}"#, #"{"a":tru}"#, #"{"a":"x}"#,
            "{\"a\":\"\n\"}", #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\ud800"}"#, #"{"a":"\ud800\u0041"}"#,
            #"{"a":"\udc00"}"#, #"{"a":[1,]}"#, #"{"a":NaN}"#, "{\"a\":1}\u{0}", #"{"a":1 "b":2}"#,
            #"{"a":1e309}"#, #"{"a":-33331e+3333333333332}"#,
        ])
    func refused(text: String) { #expect(throws: WireError(.malformed, "")) { try read(text) } }

    @Test(
        "A name stands once in an object",
        arguments: [#"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"{"o":{"a":1,"a":2}}"#])
    func names(text: String) { #expect(throws: WireError(.malformed, "")) { try read(text) } }

    @Test("A text that is not UTF-8 is refused") func encoding() {
        let bytes = Array(#"{"a":""#.utf8) + [0xc3, 0x28] + Array("\"}".utf8)
        #expect(throws: WireError(.malformed, "")) { try JOSEObject(parsing: bytes) }
    }

    @Test("One more member, element or level than allowed is refused") func limits() throws {
        func members(_ count: Int) -> String { "{\((0..<count).map { "\"\($0)\":1" }.joined(separator: ","))}" }
        func elements(_ count: Int) -> String {
            "{\"a\":[\(repeatElement("1", count: count).joined(separator: ","))]}"
        }
        func levels(_ count: Int) -> String {
            String(repeating: "{\"a\":", count: count - 1) + "{}" + String(repeating: "}", count: count - 1)
        }
        for (make, limit) in [
            (members, JOSEObject.Limits.members), (elements, JOSEObject.Limits.elements),
            (levels, JOSEObject.Limits.depth),
        ] {
            _ = try read(make(limit))
            #expect(throws: WireError(.tooLarge, "")) { try read(make(limit + 1)) }
        }
    }

    @Test("Numbers of 18 digits are exact, and longer ones are no integers") func digits() throws {
        #expect(try read(#"{"a":999999999999999999}"#)["a"] == .integer(999_999_999_999_999_999))
        #expect(try read(#"{"a":1000000000000000000}"#)["a"] == .number)
        #expect(try read(#"{"a":-0}"#)["a"] == .number)
    }

    @Test("Members are demanded in their form") func demands() throws {
        let object = try read(#"{"s":"abc","i":7,"zero":0,"big":9007199254740993}"#)
        #expect(try object.string("s", upTo: 3) == "abc" && object.time("i") == 7)
        #expect(try object.optionalString("none") == nil && object.optionalTime("none") == nil)
        #expect(throws: WireError(.tooLarge, "")) { try object.string("s", upTo: 2) }
        #expect(throws: WireError(.malformed, "")) { try object.string("i") }
        #expect(throws: WireError(.malformed, "")) { try object.string("none") }
        for name in ["s", "zero", "big", "none"] {
            #expect(throws: WireError(.malformed, "")) { try object.time(name) }
        }
    }
}
