internal import Foundation

/// The configurations that `Docs/ForeignRelays.md` shows.
package enum ForeignRelayGuide {
    /// The first block of a language.
    package static func block(_ language: String) throws -> String {
        let page = Programs.repository.appending(path: "Docs/ForeignRelays.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        guard let start = text.range(of: "```\(language)\n"),
            let end = text.range(of: "```", range: start.upperBound..<text.endIndex)
        else { throw Unexpected("ForeignRelays.md has no block of \(language)") }
        return String(text[start.upperBound..<end.lowerBound])
    }

    /// With the paths and ports of a test in place of those of a machine; each must occur.
    static func block(_ language: String, _ replacements: KeyValuePairs<String, String>) throws -> String {
        try replacements.reduce(into: block(language)) { text, replacement in
            guard text.contains(replacement.key) else { throw Unexpected("\(language): no \(replacement.key)") }
            text = text.replacing(replacement.key, with: replacement.value)
        }
    }
}

/// What a foreign relay is started with.
package struct ForeignRelaySetting: Sendable {
    /// Its certificate and key.
    package var identity: TestIdentity
    /// The authority of the instances' certificates, PEM.
    package var instances: String
    /// The guard's socket, in a directory that all users can enter.
    package var socket: String
    /// The source address of its connections to servers.
    package var egress: String
    /// Names that it knows, and their addresses.
    package var names: [String: String]

    package init(
        identity: TestIdentity, instances: String, socket: String, egress: String, names: [String: String] = [:]
    ) {
        self.identity = identity
        self.instances = instances
        self.socket = socket
        self.egress = egress
        self.names = names
    }

    /// The host in the names of the files that `sallyport gateway certificate` writes. The guide says `HOST`.
    static let host = "localhost"
    /// What that command writes for the host, and the guide's configurations read: certificate, key, and authority.
    package static let files = ["\(host).pem", "\(host).key", "ca.pem"]

    /// Writes certificates and key where all users can read them: the relay gives up being root.
    fileprivate func write(to folder: TemporaryDirectory) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        for (name, text) in try zip(Self.files, [identity.pem, identity.keyPEM, instances]) {
            try folder.write(text, to: name)
        }
        let hosts = names.map { "\($0.value) \($0.key)\n" }.joined()
        try folder.write(hosts, to: "hosts")
    }
}

/// A real Squid as a relay, with the configuration that the guide shows; stopped with this value.
package final class SquidRelay: Sendable {
    package let port: UInt16
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameter port: one that is free.
    package static func start(_ setting: ForeignRelaySetting, at port: UInt16) async throws -> SquidRelay {
        let relay = try SquidRelay(setting, port)
        let isUp = try await eventually(within: .seconds(30)) {
            !relay.process.isRunning || relay.messages.contains("Accepting HTTPS Socket connections")
        }
        guard isUp, relay.process.isRunning, !relay.messages.contains("FATAL") else {
            throw Unexpected("squid: \(relay.messages) \(relay.process.error)")
        }
        return relay
    }

    private init(_ setting: ForeignRelaySetting, _ port: UInt16) throws {
        self.port = port
        folder = try TemporaryDirectory()
        try setting.write(to: folder)
        let shown = try ForeignRelayGuide.block(
            "squid",
            [
                "https_port 3129": "https_port \(port)", "relay/HOST": "relay/\(ForeignRelaySetting.host)",
                "/etc/sallyport/relay": folder.path,
                "/usr/bin/sallyport": Programs.built("sallyport"), "/run/sallyport/guard.sock": setting.socket,
                "/var/log/squid": folder.path,
            ])
        // What differs between a test and a machine of its own.
        let own = """
            tcp_outgoing_address \(setting.egress)
            hosts_file \(folder.path)/hosts
            buffered_logs off
            memory_cache_shared off
            pid_filename none
            pinger_enable off
            shutdown_lifetime 0 seconds
            coredump_dir none
            visible_hostname test
            """
        try folder.write(shown + own + "\n", to: "squid.conf")
        process = try ChildProcess(
            "/usr/bin/env", ["squid", "-N", "-f", folder.file("squid.conf"), "-n", "relay\(port)"],
            environment: ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"])
    }

    /// A line for each tunnel that has ended, and each refusal: time, client, status, method, target, instance, bytes.
    package var log: [String] { text("access.log").split(separator: "\n").map(String.init) }
    package var messages: String { text("cache.log") }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? ""
    }
}

/// A real Apache httpd as a relay, with the site and the script that the guide shows; stopped with this value.
package final class HTTPDRelay: Sendable {
    package let port: UInt16
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameters:
    ///   - port: one that is free.
    ///   - asks: false for a site whose line with the script is gone.
    package static func start(
        _ setting: ForeignRelaySetting, at port: UInt16, asking asks: Bool = true
    ) async throws -> HTTPDRelay {
        let relay = try HTTPDRelay(setting, port, asks)
        let isUp = try await eventually(within: .seconds(30)) {
            !relay.process.isRunning || relay.process.listens(at: port)
        }
        guard isUp, relay.process.isRunning else { throw Unexpected("apache2: \(relay.process.error)") }
        return relay
    }

    private init(_ setting: ForeignRelaySetting, _ port: UInt16, _ asks: Bool) throws {
        self.port = port
        folder = try TemporaryDirectory()
        try setting.write(to: folder)
        let script = try ForeignRelayGuide.block("lua", ["/run/sallyport/guard.sock": setting.socket])
        try folder.write(script, to: "sallyport.lua")
        let site = try ForeignRelayGuide.block(
            "apache",
            [
                "    LuaHookAccessChecker": asks ? "    LuaHookAccessChecker" : "    # LuaHookAccessChecker",
                "3443": "\(port)", "/etc/apache2/sallyport.lua": folder.file("sallyport.lua"),
                "relay/HOST": "relay/\(ForeignRelaySetting.host)", "/etc/sallyport/relay": folder.path,
                "ProxyRequests On": "ProxyRequests On\nProxySourceAddress \(setting.egress)",
            ])
        try folder.write(Self.configuration(folder.path) + site, to: "httpd.conf")
        process = try ChildProcess(
            "/usr/bin/env", ["apache2", "-X", "-f", folder.file("httpd.conf")],
            environment: ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"])
    }

    /// What a distribution's httpd has around a site.
    private static func configuration(_ path: String) -> String {
        let modules = [
            "mpm_event", "authn_core", "authz_core", "socache_shmcb", "ssl", "setenvif", "proxy", "proxy_connect",
            "lua",
        ].map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
        return """
            ServerRoot \(path)
            ServerName localhost
            PidFile \(path)/httpd.pid
            ErrorLog \(path)/error.log
            LogLevel notice
            DefaultRuntimeDir \(path)
            \(modules)
            User www-data
            Group www-data
            StartServers 1
            LogFormat "%>s %u %r" line
            CustomLog \(path)/access.log line

            """
    }

    /// A line for each tunnel that has ended, and each refusal: status, instance, request.
    package var log: [String] { text("access.log").split(separator: "\n").map(String.init) }
    package var messages: String { text("error.log") }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? ""
    }
}
