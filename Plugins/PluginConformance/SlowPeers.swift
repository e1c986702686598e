internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading

/// Reads slowly: each write waits, the first ones long enough to reveal a handler that does not wait.
struct SlowReader {
    private static let slowWrites = 32

    let sample: SampleRequest
    let plain: Recorder.Snapshot
    let trials: Trials

    func check() async {
        let recorder = await trials.start(sample, pace: .stepped)
        var writes = 0
        while await trials.waits(for: { recorder.seen.isWaiting || recorder.seen.ending != nil }) {
            guard recorder.seen.ending == nil else { break }
            writes += 1
            if writes <= Self.slowWrites { try? await Task.sleep(for: .milliseconds(3)) }
            recorder.letGo()
        }
        guard let seen = await trials.end(of: recorder, sample), !seen.isSameAnswer(as: plain) else { return }
        trials.ledger.add(.sameAnswer, sample.name, "A slow reader gets another answer than a fast one.")
    }
}

/// Sends the request's body slowly, in pieces.
struct SlowUpload {
    private static let pieces = 16

    let sample: SampleRequest
    let plain: Recorder.Snapshot
    let trials: Trials

    func check() async {
        guard let body = sample.request.body, case .bytes(let bytes) = body.source else { return }
        var request = sample.request
        request.body = .restartable(length: body.length) { writer in
            let size = max(1, bytes.count / Self.pieces)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try await Task.sleep(for: .milliseconds(1))
                try await writer.write(Array(bytes[start..<min(start + size, bytes.count)]))
            }
        }
        let recorder = await trials.start(sample, request)
        guard let seen = await trials.end(of: recorder, sample), !seen.isSameAnswer(as: plain) else { return }
        trials.ledger.add(.sameAnswer, sample.name, "A request body that comes slowly gets another answer.")
    }
}

/// Observes a handler while its source pauses, and cancels it then.
struct SlowSource {
    let sample: SampleRequest
    let hold: SampleRequest.Hold
    let trials: Trials

    func check() async {
        await checkStreaming()
        await checkCancellation()
    }

    private func isHandedOver(_ recorder: Recorder) -> Bool {
        recorder.seen.head != nil && recorder.seen.bytes.count >= hold.count
    }

    private func checkStreaming() async {
        let recorder = await trials.start(sample)
        if await !trials.waits(for: { isHandedOver(recorder) || recorder.seen.ending != nil }) {
            trials.ledger.add(
                .streams, sample.name,
                "The source gave a head and \(hold.count) bytes; \(recorder.seen.bytes.count) were handed over.")
        }
        await hold.release()
        guard let seen = await trials.end(of: recorder, sample) else { return }
        Answer(sample: sample, seen: seen, ledger: trials.ledger).check()
    }

    private func checkCancellation() async {
        let recorder = await trials.start(sample)
        _ = await trials.waits(for: { isHandedOver(recorder) || recorder.seen.ending != nil })
        recorder.cancel()
        let seen = await trials.end(of: recorder, sample)
        await hold.release()
        if case .untyped(let type) = seen?.ending {
            trials.ledger.add(.typedErrors, sample.name, "Cancelled while it waited, the handler threw a \(type).")
        }
        guard case .whole = seen?.ending else { return }
        trials.ledger.add(
            .tellsOfTruncation, sample.name, "Cancelled while it waited, the handler returned as if it were done.")
    }
}
