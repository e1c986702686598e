import Glibc
import SallyportSecureStore

struct Place: Sendable {
    let directory: String
    let keyFile: String
    let rest: [String]

    func open(_ options: StoreOptions = StoreOptions()) async throws(StoreError) -> SecureStore {
        try await SecureStore.open(at: directory, protectedBy: .keyFile(keyFile), options: options)
    }

    func number(_ index: Int, _ otherwise: Int) -> Int {
        index < rest.count ? Int(rest[index]) ?? otherwise : otherwise
    }
}

/// One line in one system call, so that it is out when the next thing happens.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}
