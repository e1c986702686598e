internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// Tells a load's record how much of the body was read, and how it ended.
private struct RecordedBody: BodySource {
    let body: ResponseBody
    let recorder: LoadRecorder

    var trailers: HTTPFields? { body.trailers }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            let chunk = try await body.next()
            if let chunk { recorder.took(chunk.count) } else { recorder.ended(.complete) }
            return chunk
        } catch {
            recorder.ended(.failed(error))
            throw error
        }
    }

    func discard() {
        body.discard()
        recorder.ended(.discarded)
    }
}

extension SecureSession {
    /// The recorder of a load; nil if its record is not wanted.
    func recorder(for request: LoadRequest, _ id: UInt64, delegate own: (any SessionDelegate)?) -> LoadRecorder {
        let recorder = LoadRecorder(request, id: id)
        let delegates = [own, delegate].compactMap(\.self)
        if let told = configuration.onRecord { recorder.whenEnded(told) }
        guard !delegates.isEmpty else { return recorder }
        recorder.whenEnded { [self] record in
            for delegate in delegates { delegate.session(self, loading: request, didFinish: record) }
        }
        return recorder
    }

    /// Loads, and sees to it that the record ends with the load.
    func recorded(
        _ request: LoadRequest, by recorder: LoadRecorder,
        _ load: (LoadRequest) async throws(LoadError) -> LoadResponse
    ) async throws(LoadError) -> LoadResponse {
        do throws(LoadError) {
            var response =
                if let observer {
                    try await observer.observe(request, by: recorder, load)
                } else {
                    try await load(request)
                }
            recorder.answered(response.head.status)
            response.recorder = recorder
            response.body = ResponseBody(RecordedBody(body: response.body, recorder: recorder))
            return response
        } catch {
            recorder.ended(.failed(error))
            throw error
        }
    }
}
