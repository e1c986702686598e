import ArgumentParser
import SallyportCache
import SallyportCore
import SallyportSecureStore

/// Shows and clears the cache in an app's store.
struct CacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Show and clear the cache in an app's store.",
        subcommands: [StatCommand.self, ShowCommand.self, ClearCommand.self])
}

extension CacheCommand {
    struct StatCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stat", abstract: "Show how many answers are stored; works beside the app.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let store = try await location.openApp(.readOnly)
            defer { store.close() }
            let statistics = SecureCache(store: store, gate: nil).statistics
            let report = CacheReport(entries: statistics.entries, bytes: statistics.bytes)
            output.print(report, "\(Count.of(report.entries, "answer")), \(Count.of(report.bytes, "byte"))")
        }
    }

    struct ShowCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show what is stored for a URL, without bodies; works beside the app.")
        @Argument(help: "The URL.") var url: String
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let url = try RequestURL.argument(url)
            let store = try await location.openApp(.readOnly)
            defer { store.close() }
            let entries = SecureCache(store: store, gate: nil).entries(of: url)
            output.print(
                entries, entries.isEmpty ? "nothing is stored" : entries.map(Self.text).joined(separator: "\n\n"))
        }

        private static func text(_ entry: StoredEntry) -> String {
            let fields = entry.fields.map { "  \(OneLine.of($0))" }
            let part = entry.range.map { ", \($0)" } ?? ""
            let vary = entry.vary.isEmpty ? "" : ", chosen by \(entry.vary.joined(separator: ", "))"
            let left = entry.fresh > 0 ? "fresh for \(entry.fresh) s" : "stale for \(-entry.fresh) s"
            return
                ([
                    "\(entry.status), \(entry.length) bytes\(part), for \(OneLine.of(entry.principal)), by \(entry.way)\(vary)"
                ]
                + ["  \(entry.age) s old, \(left)"] + fields).joined(separator: "\n")
        }
    }

    struct ClearCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "Remove all stored answers, or those of a host.")
        @Option(help: "Only answers of this host, on every port.") var host: String?
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let host = try parsedHost()
            let store = try await location.openApp(.existing)
            defer { store.close() }
            let cache = SecureCache(store: store, gate: nil)
            let removed: Int
            if let host {
                removed = try await cache.remove(host: host)
            } else {
                removed = cache.statistics.entries
                try await cache.removeAll()
            }
            output.print(ClearedReport(removed: removed), "\(Count.of(removed, "answer")) removed")
        }

        private func parsedHost() throws(CommandFailure) -> Host? {
            do throws(AddressError) {
                guard let host else { return nil }
                return try Host(host)
            } catch {
                throw CommandFailure(.usage, name: "invalidAddress", "--host is not a host: \(error.message)")
            }
        }
    }
}

/// What `cache stat` prints.
struct CacheReport: Encodable, Sendable {
    let entries: Int
    let bytes: Int
}

/// What `cache clear` prints.
struct ClearedReport: Encodable, Sendable {
    let removed: Int
}
