import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading

/// A handler of `broken:` URLs that is wrong in one way; the rest of it is right.
protocol BrokenHandler: ProtocolHandler {}

extension BrokenHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "broken" }

    /// The body of a right answer.
    static var words: [[UInt8]] { ["one", "two", "three"].map { Array($0.utf8) } }

    func answer(_ response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        for word in Self.words { try await response.write(word) }
    }
}

struct SoundHandler: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { try await answer(response) }
}

// MARK: Requests

struct TakesNothing: BrokenHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { false }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { try await answer(response) }
}

struct CanonicalFormGrows: BrokenHandler {
    static func canonicalForm(of request: LoadRequest) -> LoadRequest {
        var request = request
        request.headerFields.append(HTTPField(name: .accept, value: "*/*"))
        return request
    }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { try await answer(response) }
}

struct CanonicalFormIsForeign: BrokenHandler {
    static func canonicalForm(of request: LoadRequest) -> LoadRequest { (try? .get("other:x")) ?? request }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { try await answer(response) }
}

struct CanonicalFormLosesTheBody: BrokenHandler {
    static func canonicalForm(of request: LoadRequest) -> LoadRequest { LoadRequest(request.method, request.url) }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { try await answer(response) }
}

struct Declines: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { throw RequestDeclined() }
}

// MARK: Order and errors

struct AnswersNothing: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {}
}

struct BeginsTwice: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await answer(response)
    }
}

struct BodyBeforeHead: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try await response.write([1])
        try await answer(response)
    }
}

struct DeclinesLate: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        throw RequestDeclined()
    }
}

struct HugeChunk: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([UInt8](repeating: 0, count: 1 << 20 + 1))
    }
}

struct WrongStatus: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .notFound))
        for word in Self.words { try await response.write(word) }
    }
}

struct WrongBody: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([1])
    }
}

struct WrongCode: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        throw LoadError(.cannotConnect, "wrong")
    }
}

struct ForeignError: BrokenHandler {
    struct Failure: Error {}
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { throw Failure() }
}

struct ForeignErrorWhenCancelled: BrokenHandler {
    struct Failure: Error {}
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        do { try await answer(response) } catch { throw Failure() }
    }
}

struct NeverEnds: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await Task.sleep(for: .seconds(3600))
    }
}

struct EndlessBody: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        while true { try await response.write([UInt8](repeating: 0, count: 1 << 20)) }
    }
}

// MARK: Cancellation

/// Waits where no cancellation reaches it; bounded, so that it ends with its test.
private func waitDeafly(_ duration: Duration) async {
    await Task.detached { try? await Task.sleep(for: duration) }.value
}

struct IgnoresCancellation: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        do { try await answer(response) } catch {
            await waitDeafly(.seconds(4))
            throw error
        }
    }
}

struct TruncatesSilently: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { try? await answer(response) }
}

struct WritesOn: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        var failure: (any Error)?
        for word in Self.words {
            do { try await response.write(word) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

// MARK: Slow peers

struct WritesAtOnce: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        async let first: Void = response.write(Self.words[0])
        async let second: Void = response.write(Self.words[1])
        _ = try await (first, second)
        try await response.write(Self.words[2])
    }
}

struct ReturnsWhileItWrites: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        for word in Self.words.dropLast() { try await response.write(word) }
        // It waits for room before this goes on.
        Task.immediate { try await response.write(Self.words[2]) }
    }
}

struct WritesAfterItsEnd: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try await answer(response)
        Task.detached {
            try await Task.sleep(for: .milliseconds(20))
            try await response.write([1])
        }
    }
}

struct AnswersOtherwiseEachTime: BrokenHandler {
    private static let loads = Lock<UInt8>(0)
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([
            Self.loads.withLock {
                $0 &+= 1; return $0
            }
        ])
    }
}

// MARK: What stays

/// What broken handlers keep, until their test is over.
enum Kept {
    private static let state = Lock<(objects: [any Sendable], descriptors: [Int32])>(([], []))

    static func keep(_ object: any Sendable) { state.withLock { $0.objects.append(object) } }

    static func keep(descriptor: Int32) { state.withLock { $0.descriptors.append(descriptor) } }

    static func release() {
        let kept = state.withLock { state in
            defer { state = ([], []) }
            return state
        }
        for descriptor in kept.descriptors { close(descriptor) }
    }
}

struct KeepsTheWriter: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Kept.keep(response)
        try await answer(response)
    }
}

final class KeepsItself: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Kept.keep(self)
        try await answer(response)
    }
}

struct KeepsDescriptors: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Kept.keep(descriptor: open("/dev/null", O_RDONLY | O_CLOEXEC))
        try await answer(response)
    }
}

struct KeepsDescriptorsWhenCancelled: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        do { try await answer(response) } catch {
            Kept.keep(descriptor: descriptor)
            throw error
        }
        close(descriptor)
    }
}
