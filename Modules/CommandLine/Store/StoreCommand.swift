import ArgumentParser
import SallyportSecureStore

/// Maintains a store: an app's, or a gateway's data.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Maintain a store: an app's, or a gateway's data.",
        subcommands: [
            StatCommand.self, VerifyCommand.self, BackupCommand.self, RestoreCommand.self, RotateCommand.self,
            CompactCommand.self,
        ])
}

extension StoreLocationOptions {
    func keyProtector() throws(CommandFailure) -> any KeyProtector {
        try protector.protection(of: store).protector()
    }

    func open(_ options: StoreOptions) async throws -> SecureStore {
        try await SecureStore.open(at: store, protectedBy: keyProtector(), options: options)
    }
}

extension StoreCommand {
    struct StatCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stat", abstract: "Show what a store holds and how large it is; works beside its writer.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let store = try await location.open(.readOnly)
            defer { store.close() }
            let report = StoreReport(try store.statistics(), isRestored: store.isRestored)
            output.print(report, report.text)
        }
    }

    struct VerifyCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Check every page and every record of a store, or of a backup; works beside its writer.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let found = try await SecureStore.verify(at: location.store, protectedBy: location.keyProtector())
            let report = CheckReport(found)
            output.print(report, report.text)
            guard !report.sound else { return }
            throw CommandFailure(
                .inputOutput, name: "damaged", "The store at \(location.store) is damaged.",
                hint: "'sallyport store restore BACKUP' puts a backup in its place")
        }
    }

    struct BackupCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "backup",
            abstract: "Copy a store, verified and still encrypted, into a new directory; works beside its writer.")
        @Argument(help: "The new directory.") var target: String
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let store = try await location.open(.readOnly)
            defer { store.close() }
            let report = CopyReport(target, try await store.backup(to: target))
            output.print(report, "\(Count.of(report.records, "record")) copied into \(target)")
        }
    }

    struct RestoreCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "restore",
            abstract: "Replace or create a store with a backup; an app must then authorize again.")
        @Argument(help: "The backup.") var backup: String
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let found = try await SecureStore.restore(
                from: backup, to: location.store, protectedBy: location.keyProtector())
            let report = CopyReport(location.store, found)
            output.print(report, "\(Count.of(report.records, "record")) restored into \(location.store)")
        }
    }

    struct RotateCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate", abstract: "Create a new data key, re-encrypt every record, and forget the old key.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let store = try await location.open(.existing)
            defer { store.close() }
            try await store.rotateDataKey()
            try await store.finishRotation()
            output.print(Acknowledgement(), "every record has a new key")
        }
    }

    struct CompactCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "compact", abstract: "Rewrite a store's file without its free space.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let done = try await SecureStore.compact(at: location.store, protectedBy: location.keyProtector())
            output.print(
                CompactionReport(before: done.before, after: done.after),
                "\(done.before) bytes before, \(done.after) after")
        }
    }
}
