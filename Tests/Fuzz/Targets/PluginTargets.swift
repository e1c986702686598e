import SallyportCore
import SallyportDataURL
import SallyportUnixSocket

@testable import SallyportCassette

extension FuzzTarget {
    static let plugins = [data, unixSocket, cassette]

    private static let data = FuzzTarget(
        "data", text: ["data:", "text/plain", ";charset=", ";base64", ",", "%2C", "\"", "=", "%", "A=="]
    ) { text throws(BrokenProperty) in
        guard let url = try? DataURL(text) else { return }
        try demand(!url.mediaType.utf8.contains { $0 < 0x20 || $0 == 0x7f }, "A media type holds control characters.")
    }

    private static let unixSocket = FuzzTarget(
        "unix-socket", text: ["http+unix://", "%2F", "%2E", "..", "/", "?", "%00", "@", ":"]
    ) { text throws(BrokenProperty) in
        guard let url = (try? RequestURL(text)).flatMap({ try? UnixSocketURL($0) }) else { return }
        let again = try? UnixSocketURL(url.url)
        try demand(again == url, "A URL is read as another.")
        try demand(url.socket.hasPrefix("/") && !url.socket.contains("\0"), "A socket is not an absolute path.")
    }

    private static let cassette = FuzzTarget(
        "cassette", words: ["{\"", "\":", "\"", "}", "[", "]", "base64", "text", "null", "-1", "99999", "headers"]
    ) { bytes throws(BrokenProperty) in
        guard let recording = try? Recording(file: bytes), let printed = try? recording.file() else { return }
        let again = try? Recording(file: printed)
        try demand((try? again?.file()) == printed, "A cassette is read as another.")
    }
}
