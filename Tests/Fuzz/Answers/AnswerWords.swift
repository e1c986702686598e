/// What answers are made of.
enum AnswerWords {
    static let interimLines = [
        "HTTP/1.1 100 Continue", "HTTP/1.1 103 Early Hints", "HTTP/1.1 102 Processing", "HTTP/1.0 100 Continue",
        "HTTP/1.1 199 ", "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 100", "HTTP/1.1 110 x",
    ]

    static let statusLines = [
        "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 200 OK", "HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified",
        "HTTP/1.1 404 Not Found", "HTTP/1.1 500 \u{e9}", "HTTP/1.1  200 OK", "HTTP/1.1 200  OK", "HTTP/1.1\t200 OK",
        "HTTP/1.1 0200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 099 x",
        "HTTP/1.1 999 x", "HTTP/1.1 600 x", "HTTP/1.1 200OK", "HTTP/1.2 200 OK", "HTTP/1.9 200 OK", "HTTP/2 200 OK",
        "HTTP/2.0 200 OK", "HTTP/0.9 200 OK", "HTTP/1.10 200 OK", "HTTP/01.1 200 OK", "HTTP/1. 200 OK",
        "http/1.1 200 OK",
        "HTTP /1.1 200 OK", " HTTP/1.1 200 OK", "\r\nHTTP/1.1 200 OK", "ICY 200 OK", "HTTP/1.1 200 a\tb",
        "HTTP/1.1 200 a\u{1}b", "HTTP/1.1 205 Reset Content", "HTTP/1.1 416 x", "HTTP/1.1 407 x", "HTTP/1.1 401 x",
        "HTTP/1.1 302 Found", "HTTP/1.1 206 x", "RTSP/1.0 200 OK", "HTTP/3 200 OK", "HTTP/1.1 200 :", "HTTP/1.1 426 x",
    ]

    static let fields = [
        "A: b", "Server: x/1", "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Set-Cookie: a=b; Path=/",
        "Content-Type: text/html",
        "Connection: keep-alive", "Connection: close", "X-Empty:", "X-Spaces: \t a \t ", "ETag: \"x\"", "Vary: *, A",
        "x-lower: é", "X-Colon: a:b: c", "Keep-Alive: timeout=5", "Trailer: A",
    ]

    static let oddFields = [
        "X : a", "X\t: a", " X: a", "\tX: a", "X", ": a", "X(Y): a", "X Y: a", "X@: a", "X\"Y\": a", "é: a", "X: a\0b",
        "X: a\u{1}b", "X: a\u{7f}b", "X: a\u{b}b", "X: \u{c}", "X: a\rb", "X:\r a", "X\r: a", "X\0: a", "X;Y: a",
        "X=Y: a",
        "HTTP/1.1 302 Found", "Connection: Close, x", "Connection: x, close", "Connection: close close",
        "Connection: keep-alive, close", "Connection: \"close\"", "Connection: upgrade",
        "Connection: upgrade\r\nUpgrade: h2c",
        "Upgrade: websocket", "Connection:close,keep-alive", "Proxy-Connection: close", "Connection: closed",
        "Proxy-Connection: keep-alive", "Connection :close", "Connection: keep-alive\r\nConnection: close", "X: \\",
        "Content-Encoding: gzip", "Content-Encoding: chunked", "TE: chunked", "HTTP/1.1: a", "X: \u{85}a\u{a0}",
        "Connection: \tclose", "Connection: c lose", "Connection: k", "Content-Range: bytes 0-4/5",
        "Connection:\tclose ",
        "Connection: ,close", "Connection: close;", "Connection: KEEP-ALIVE", "Location: /a", "!#$%&'*+-.^_`|~9: a",
    ]

    static let oddFraming = [
        "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 5",
        "Content-Length: 5,5", "Content-Length: 5, 6", "Content-Length: 5,", "Content-Length: ,5", "Content-Length: -5",
        "Content-Length: +5", "Content-Length: 0x5", "Content-Length: 05", "Content-Length: 00000000000000000005",
        "Content-Length: 5 ", "Content-Length: 5 5", "Content-Length:", "Content-Length: ", "Content-Length: five",
        "Content-Length: 5;", "Content-Length: 5.0", "Content-Length: 5\u{b}", "Content-Length: \u{b}5",
        "Content-Length:5",
        "Content-Length : 5", "Content-Length\t: 5", "content-length: 5", "CONTENT-LENGTH: 5", "Content-Length: 0",
        "Content-Length: 9223372036854775807", "Content-Length: 9223372036854775808", "Content_Length: 5",
        "Content-Length: 18446744073709551621", "Content-Length: 4294967301", "Content-Length: \"5\"",
        "Content-Length:\t5",
        "Content-Length: 5\r\n 5", "Content-Length:\r\n 5", "Content-Length: 5\r\n ", "Content-Length:  5  ",
        "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: Chunked", "Transfer-Encoding: CHUNKED", "transfer-encoding:chunked",
        "TRANSFER-ENCODING: chunked",
        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: identity", "Transfer-Encoding: identity, chunked", "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", "Transfer-Encoding:", "Transfer-Encoding: ",
        "Transfer-Encoding: chunked;q=1", "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: chunked,",
        "Transfer-Encoding: ,chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunkedx",
        "Transfer-Encoding: chunke",
        "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", "Transfer_Encoding: chunked",
        "Transfer-Encoding: \u{b}chunked", "Transfer-Encoding: chunked\u{b}", "Transfer-Encoding: chunked\u{0}",
        "Transfer-Encoding: chunked\r\n x", "Transfer-Encoding:\r\n chunked", "Transfer-Encoding: chunked \t",
        "Transfer-Encoding:\tchunked", "Transfer-Encoding: chun\u{212a}ed", "Transfer-Encoding: c,hunked",
        "X: a\r\n chunked",
        "Content-Length: 1\r\nContent-Length: 01", "Content-Length: 5\r\nContent-Length:", "Transfer-Encoding: deflate",
    ]

    static let oddSizes = [
        "", "+5", "-5", "0x5", " 5", "5 ", "\t5", "05", "000000000000005", "0000000000000005", "00000000000000005",
        "ffffffffffffffff", "fffffffffffffffff", "7fffffffffffffff", "8000000000000000", "10000000000000005", "g", "5g",
        "5_", "5,",
        "\u{b}5", "5\u{b}", "5\0", "\05", "5.", "five", "5\r", "５", "5;5", "5 5",
    ]

    static let extensions = [
        ";a", ";a=b", "; a = b", ";a=\"b\"", ";a=\"\\\"\"", ";", ";;", " ;a", "\t;a", " ", "\t", "; ", ";a=\"b",
        ";a=\u{1}",
        ";a=\u{e9}", ";a\0b", ";a=\rb", ";a=\nb", ";=", ";a=b;c=d", ";a=\"\r\n\"", ":a", ",a", "=a", ";\u{7f}", ";(",
        ";a b",
        ";a=b c", ";a= b", ";a=\"\t\"", ";a=b ", "  ", " \t ",
    ]

    static let rests = [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "x", "\r\n",
        "\n",
        "0\r\n\r\n", "\0",
    ]

    static let splinters = [
        "\r\n", "\n", "\r", "\r\n\r\n", "\n\n", "\r\n ", "\r\n\t", "\n ", ": ", " :", ",", ";", "\0", "\r\r\n",
        "\n\r\n", "0\r\n\r\n",
        "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n", "\u{b}", "\u{c}", "\u{85}",
        "\u{a0}", "\"", "\\",
        "HTTP/1.1 100 Continue\r\n\r\n", "9999999999", "ffffffff",
    ]
}
