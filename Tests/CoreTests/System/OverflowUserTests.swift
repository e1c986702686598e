import Testing

@testable import SallyportBase

/// Whether the number that stands for users without one can be taken for a user's.
struct OverflowUserTests {
    @Test(arguments: ["         0          0 4294967295\n", "0 0 4294967295"])
    func itNamesAUserIfAllAreMapped(_ map: String) {
        #expect(OverflowUser.number(inKernel: "65534\n", map: map) == nil)
    }

    @Test(arguments: [
        nil, "", "         0       1000          1\n", "0 100000 65536\n", "0 0 4294967294\n", "0 1 4294967295\n",
        "0 0 65534\n65534 100000 1\n", "0 0 4294967295\n0 0 1\n",
    ])
    func itNamesNoUserIfOneMayBeMissing(_ map: String?) {
        #expect(OverflowUser.number(inKernel: "65534\n", map: map) == 65534)
        #expect(OverflowUser.number(inKernel: "60000\n", map: map) == 60000)
    }

    @Test(arguments: [nil, "", "many\n"]) func theKernelsDefaultCountsIfItDoesNotSay(_ text: String?) {
        #expect(OverflowUser.number(inKernel: text, map: nil) == 65534)
    }
}
