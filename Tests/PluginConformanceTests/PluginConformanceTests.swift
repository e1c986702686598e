import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportDataURL
import SallyportLoading
import SallyportPluginConformance
import SallyportURLLoading
import Testing

@Suite(.serialized, .timeLimit(.minutes(3))) struct PluginConformanceTests {
    private func report(
        _ handler: any ProtocolHandler.Type, _ sample: SampleRequest, patience: Duration = .seconds(5)
    ) async -> ConformanceReport {
        var conformance = PluginConformance(handler, samples: [sample])
        conformance.patience = patience
        return await conformance.run()
    }

    private static func words() throws -> SampleRequest {
        .answers("words", try .get("broken:x"), body: Array("onetwothree".utf8))
    }

    @Test func aSoundHandlerViolatesNothing() async throws {
        let report = await report(SoundHandler.self, try Self.words())
        #expect(report.violations.isEmpty, "\(report)")
        #expect(report.description == "No violation in \(report.loads) loads.")
        // Plain, five cancelled, slow, three of a session, and 128 for the descriptors.
        #expect(report.loads == 138)
        #expect(report.notTried.count == 2)
    }

    /// The time limit of a test cancels a run so. The handler's own end is not awaited.
    @Test func aRunThatIsCancelledEnds() async throws {
        let sample = try Self.words()
        let start = ContinuousClock.now
        let run = Task {
            var conformance = PluginConformance(NeverEnds.self, samples: [sample])
            conformance.patience = .seconds(60)
            return await conformance.run()
        }
        run.cancel()
        _ = await run.value
        #expect(start.duration(to: .now) < .seconds(30))
    }

    @Test func dataURLsConform() async throws {
        let long = String(repeating: "0123456789", count: 6_000)
        let report = await PluginConformance(
            DataURLHandler.self,
            samples: [
                .answers("text", try .get("data:,hello"), body: Array("hello".utf8)),
                .answers("base64", try .get("data:image/gif;base64,R0lGOA=="), body: Array("GIF8".utf8)),
                .answers("several chunks", try .get("data:text/plain,\(long)"), body: Array(long.utf8)),
                .answers("empty", try .get("data:,"), body: []),
                .answers("head", LoadRequest(.head, try RequestURL("data:,hello")), body: []),
                .fails("malformed", try .get("data:hello"), with: .invalidRequest),
                .fails("post", LoadRequest(.post, try RequestURL("data:,x")), with: .invalidRequest),
            ]
        ).run()
        #expect(report.violations.isEmpty, "\(report)")
    }

    @Test(arguments: [
        (TakesNothing.self as any ProtocolHandler.Type, Rule.takesItsRequests), (Declines.self, .takesItsRequests),
        (CanonicalFormGrows.self, .canonicalForm), (CanonicalFormIsForeign.self, .canonicalForm),
        (AnswersNothing.self, .order), (BeginsTwice.self, .order), (BodyBeforeHead.self, .order),
        (DeclinesLate.self, .order), (HugeChunk.self, .chunkSize), (WrongStatus.self, .expectedAnswer),
        (WrongBody.self, .expectedAnswer), (WrongCode.self, .expectedAnswer), (ForeignError.self, .typedErrors),
        (ForeignErrorWhenCancelled.self, .typedErrors), (NeverEnds.self, .ends), (EndlessBody.self, .ends),
        (IgnoresCancellation.self, .endsWhenCancelled), (TruncatesSilently.self, .tellsOfTruncation),
        (WritesOn.self, .stopsWhenRefused), (WritesAtOnce.self, .backPressure),
        (ReturnsWhileItWrites.self, .backPressure), (WritesAfterItsEnd.self, .silentAfterItsEnd),
        (AnswersOtherwiseEachTime.self, .sameAnswer), (KeepsTheWriter.self, .keepsNothing),
        (KeepsItself.self, .keepsNothing),
        (KeepsDescriptors.self, .keepsNothing), (KeepsDescriptorsWhenCancelled.self, .keepsNothing),
    ])
    func brokenHandlersAreFound(_ handler: any ProtocolHandler.Type, _ rule: Rule) async throws {
        defer { Kept.release() }
        let report = await report(handler, try Self.words(), patience: .seconds(1))
        let violation = try #require(report.violations.first { $0.rule == rule }, "\(report)")
        #expect(violation.sample == "words")
        #expect(!violation.detail.isEmpty && !"\(violation)".contains("\n"))
    }

    @Test func aLostBodyIsFound() async throws {
        let request = LoadRequest(.post, try RequestURL("broken:x"), body: .text("body"))
        let report = await report(CanonicalFormLosesTheBody.self, .answers("upload", request))
        #expect(report.violations.map(\.rule) == [.canonicalForm], "\(report)")
    }

    @Test func aFailureThatDoesNotComeIsFound() async throws {
        let report = await report(SoundHandler.self, .fails("failing", try .get("broken:x"), with: .cannotConnect))
        #expect(report.violations.map(\.rule) == [.expectedAnswer], "\(report)")
    }

    @Test func aRequestBodyThatIsReadInPartIsFound() async throws {
        let request = LoadRequest(.post, try RequestURL("broken:x"), body: .text("body"))
        let report = await report(ReadsOneChunk.self, .answers("upload", request))
        #expect(report.violations.map(\.rule) == [.sameAnswer], "\(report)")
    }

    // MARK: A slow source

    private func held(
        _ handler: any ProtocolHandler.Type, _ source: HeldSource, patience: Duration = .seconds(5)
    ) async throws -> ConformanceReport {
        await report(
            handler, .holdsBack("held", try .get("broken:x"), after: .bytes(1)) { source.release() },
            patience: patience)
    }

    @Test func aHandlerThatStreamsViolatesNothing() async throws {
        let report = try await held(Streams.self, Streams.source)
        #expect(report.violations.isEmpty, "\(report)")
    }

    @Test func aHandlerThatCollectsIsFound() async throws {
        // The rest is judged by what comes within the patience too.
        let report = try await held(CollectsFirst.self, CollectsFirst.source, patience: .seconds(3))
        #expect(report.violations.map(\.rule) == [.streams], "\(report)")
    }

    @Test func aHandlerThatWaitsDeaflyIsFound() async throws {
        let report = try await held(WaitsDeafly.self, WaitsDeafly.source, patience: .seconds(1))
        #expect(report.violations.map(\.rule).contains(.endsWhenCancelled), "\(report)")
    }

    @Test func aHandlerThatTakesAStopForTheEndIsFound() async throws {
        let report = try await held(TakesTheStopForTheEnd.self, TakesTheStopForTheEnd.source)
        #expect(report.violations.map(\.rule) == [.tellsOfTruncation], "\(report)")
    }
}
