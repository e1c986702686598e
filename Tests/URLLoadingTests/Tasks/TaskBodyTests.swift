import HTTPTypes
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportURLLoading

/// The body of a task that is cancelled around the moment at which its answer comes.
struct TaskBodyTests {
    private let control = LoadTaskControl(priority: 0.5)
    private let pipe = BodyPipe()

    private func body() throws -> TaskBody {
        let url = try RequestURL("https://a.example/")
        let response = LoadResponse(head: HTTPResponse(status: .ok), url: url, body: ResponseBody(pipe))
        return TaskBody(response, control, endsTask: true, counts: true)
    }

    @Test(arguments: [true, false])
    func aCancellationDiscardsTheBodyAndEndsTheTask(_ isCancelledBefore: Bool) async throws {
        control.decide { $0.resumed() }
        if isCancelledBefore { control.decide { $0.cancelled() } }
        let body = try body()
        #expect(pipe.isDiscarded == isCancelledBefore && (control.phase == .completed) == isCancelledBefore)
        if !isCancelledBefore { control.decide { $0.cancelled() } }
        #expect(pipe.isDiscarded && control.phase == .completed)
        await #expect(throws: LoadError(.cancelled, "")) { _ = try await body.next() }
    }
}
