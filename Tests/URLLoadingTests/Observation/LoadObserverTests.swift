import SallyportCore
import Testing

@testable import SallyportURLLoading

@Suite struct LoadObserverTests {
    @Test func nothingIsObservedWhereNothingIsBootstrapped() { #expect(LoadObserver.bootstrapped() == nil) }
}
