/// The times that determine the state of the link.
package struct LinkTimes: Sendable, Hashable {
    /// Without a sign of life for this long, where one comes every 2 s, the link is in doubt.
    package var silence = Duration.milliseconds(2500)
    /// Without a sign of life for this long, the link is lost: within 5 s of the loss, since the last sign came before
    /// it.
    package var silentLoss = Duration.milliseconds(4600)
    /// A doubt with another cause, such as an interface that went down, becomes a loss after this time. An interruption
    /// of less than 2 s is not reported, and there is a second to notice a return.
    package var loss = Duration.milliseconds(2900)
    /// The interval of probes while the link is in doubt, and after a change of the network.
    package var eager = Duration.milliseconds(500)
    /// For how long after a change of the network probes are eager.
    package var eagerness = Duration.seconds(3)
    /// The interval of probes while the gateway is unreachable, ± 20 %: including a probe's time, a return is noticed
    /// within 5 s.
    package var patient = Duration.milliseconds(3400)
    /// The interval of probes that replace heartbeats, while another process has the event stream or it is being
    /// opened.
    package var steady = Duration.seconds(2)
    /// The longest time for a probe.
    package var probe = Duration.seconds(2)
    /// How many probes may run at once.
    package var probes = 4
    /// The shortest time between two requests to reopen the event stream while the gateway stays reachable.
    package var call = Duration.seconds(4)

    package init() {}
}
