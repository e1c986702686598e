import SallyportBase
import Testing

/// The format of the modules' records: what is written is read, and nothing else is.
struct ByteReaderTests {
    @Test(arguments: ["", "a", "ASCII \u{7f}\0", "caf\u{e9}", "\u{65e5}\u{672c}", "a\u{10ffff}"])
    func textsAreReadAsTheyWereWritten(_ text: String) {
        var writer = ByteWriter()
        writer.text(text, 2)
        writer.text(text, 4)
        var reader = ByteReader(writer.bytes)
        #expect(reader.text(2) == text && reader.text(4) == text && reader.remaining == 0)
    }

    @Test(arguments: [[0x80], [0xc3], [0x61, 0xff], [0xed, 0xa0, 0x80], [0xc0, 0x80]] as [[UInt8]])
    func textsThatAreNotUTF8AreRefused(_ bytes: [UInt8]) {
        var writer = ByteWriter()
        writer.part(bytes, 2)
        var reader = ByteReader(writer.bytes)
        #expect(reader.text(2) == nil)
    }

    @Test func whatIsCutShortIsRefused() {
        var writer = ByteWriter()
        writer.number(7, 8)
        writer.text("text", 2)
        for count in 0..<writer.bytes.count {
            var reader = ByteReader(Array(writer.bytes.prefix(count)))
            guard reader.number(8) != nil else {
                #expect(count < 8)
                continue
            }
            #expect(count >= 8 && reader.text(2) == nil)
        }
    }
}
