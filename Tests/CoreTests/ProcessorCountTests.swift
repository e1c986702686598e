import Glibc
import Testing

@testable import SallyportBase

@Suite struct ProcessorCountTests {
    @Test(arguments: [
        ("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n", 8),
        ("Cpus_allowed:\t00000000,00000000,00000001,80000003\n", 4),
        ("Cpus_allowed:\t0\n", nil),
        ("Name:\tx\n", nil),
        ("", nil),
    ])
    func theProcessorsOfTheCPUSetAreCounted(status: String, count: Int?) {
        #expect(ProcessorCount.allowed(inStatus: status) == count)
    }

    @Test(arguments: [
        ("200000 100000\n", 2), ("150000 100000\n", 2), ("1000 100000\n", 1),
        ("max 100000\n", nil), ("0 100000\n", nil), ("100000 0\n", nil), ("-1 1\n", nil), ("100000\n", nil), ("", nil),
        ("9223372036854775807 1\n", .max), ("9223372036854775808 1\n", nil),
    ])
    func aPartOfAProcessorsTimeCountsAsOne(limit: String, count: Int?) {
        #expect(ProcessorCount.quota(inLimit: limit) == count)
    }

    @Test(arguments: [
        ("0::/\n", ["/sys/fs/cgroup"]),
        (
            "1:cpu:/old\n0::/system.slice/app.service\n",
            ["/sys/fs/cgroup", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/system.slice/app.service"]
        ),
        ("1:cpu:/old\n", []),
        ("", []),
    ])
    func theLimitsOfAllCgroupsAboveTheProcessHold(membership: String, folders: [String]) {
        #expect(ProcessorCount.folders(inMembership: membership) == folders)
    }

    /// A virtual machine allows processors that are not there yet.
    @Test(arguments: [(4, 128, 4), (4, 2, 2), (4, nil, 4), (0, nil, 1)])
    func onlyProcessorsThatAreThereCount(online: Int, allowed: Int?, count: Int) {
        #expect(ProcessorCount.count(online: online, allowed: allowed, quotas: []) == count)
    }

    @Test(arguments: [([], 4), ([8, 2, 3], 2), ([8], 4)])
    func theLowestLimitDecides(quotas: [Int], count: Int) {
        #expect(ProcessorCount.count(online: 4, allowed: 4, quotas: quotas) == count)
    }

    @Test func thisProcessHasNoMoreThanTheMachine() {
        #expect((1...sysconf(Int32(_SC_NPROCESSORS_ONLN))).contains(ProcessorCount.available))
    }
}
