import Configuration
import Logging
import SallyportBase
import SallyportConnecting
import Testing

@testable import SallyportURLLoading

@Suite struct IgnoredSettingsTests {
    private struct Handler: LogHandler {
        let told: Lock<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(_ told: Lock<[String]>) { self.told = told }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { told.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") } }
    }

    private func told(_ values: [AbsoluteConfigKey: ConfigValue]) -> [String] {
        let told = Lock<[String]>([])
        let reader = ConfigReader(provider: InMemoryProvider(values: values))
        IgnoredSettings.report(reader, to: Logger(label: "test") { _ in Handler(told) })
        return told.withLock { $0 }
    }

    @Test func rejectedSchemesAreReadIgnoredAndToldOnce() {
        let told = told(["GDRejectAuthSupport": "GDRejectAuthNTLM"])
        #expect(told.count == 1 && told.first?.contains("GDRejectAuthSupport") == true)
        #expect(told.first?.contains("NTLM") == false)
    }

    @Test func unsetSettingsAreNotLogged() { #expect(told(["ControlTLSVersions": "TLS1.1"]).isEmpty) }
}
