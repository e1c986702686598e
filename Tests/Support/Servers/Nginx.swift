internal import Foundation

/// A real nginx, stopped with this value.
package final class Nginx: Sendable {
    package let port: UInt16
    /// Its files; `access.log` is in it where the configuration names it.
    package let folder: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameters:
    ///   - folder: what the configuration needs is in it. nginx's workers are another user: they may enter it.
    ///   - server: the `server` blocks for a port that is free as far as can be told.
    package static func start(
        in folder: TemporaryDirectory, _ servers: (UInt16) -> String
    ) async throws -> Nginx {
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
        for _ in 0..<10 {
            let port = LoopbackPort.free()
            if let nginx = try await Nginx(port, folder, servers(port)) { return nginx }
        }
        throw Unexpected("nginx found no port")
    }

    private init?(_ port: UInt16, _ folder: TemporaryDirectory, _ servers: String) async throws {
        (self.port, self.folder) = (port, folder)
        try? FileManager.default.removeItem(atPath: folder.file("nginx.pid"))
        try folder.write(Self.configuration(folder.path, servers), to: "nginx.conf")
        let process = try ChildProcess(
            "/usr/bin/env", ["nginx", "-e", folder.file("error.log"), "-c", folder.file("nginx.conf")],
            environment: ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"])
        self.process = process
        // nginx writes its process id once it listens on all its ports, and not if one of them is taken.
        let isUp = try await eventually {
            !process.isRunning
                || (try? String(contentsOfFile: folder.file("nginx.pid"), encoding: .utf8))?.count ?? 0 > 1
        }
        // A port that another has taken ends nginx: the caller tries the next.
        guard isUp, process.isRunning else { return nil }
    }

    /// Signals nginx and its worker.
    package func signal(_ number: Int32) { process.signalGroup(number) }

    /// The lines of `access.log`, as the configuration has them written.
    package var log: [String] {
        ((try? String(contentsOfFile: folder.file("access.log"), encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
    }

    private static func configuration(_ path: String, _ servers: String) -> String {
        """
        daemon off;
        worker_processes 1;
        pid \(path)/nginx.pid;
        error_log \(path)/error.log error;
        events { worker_connections 512; }
        http {
            client_body_temp_path \(path)/body;
            proxy_temp_path \(path)/proxy;
            fastcgi_temp_path \(path)/fastcgi;
            uwsgi_temp_path \(path)/uwsgi;
            scgi_temp_path \(path)/scgi;
            keepalive_requests 1000000;
            client_max_body_size 0;
            \(servers)
        }
        """
    }
}
