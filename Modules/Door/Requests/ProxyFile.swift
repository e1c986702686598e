/// The file by which browsers find a proxy: a function of JavaScript. It never names the way past the door.
enum ProxyFile {
    static func text(for place: DoorPlace) -> String {
        "function FindProxyForURL(url, host) { return \"PROXY \(place); SOCKS5 \(place)\"; }\n"
    }

    static func answer(for place: DoorPlace) -> [UInt8] {
        let body = Array(text(for: place).utf8)
        let head = [
            "HTTP/1.1 200 OK", "Content-Type: application/x-ns-proxy-autoconfig", "Content-Length: \(body.count)",
            "Cache-Control: no-store", "Connection: close",
        ]
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}
