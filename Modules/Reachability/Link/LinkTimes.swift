/// The times by which the state of the link is decided.
package struct LinkTimes: Sendable, Hashable {
    /// No word for this long, where one comes each 2 s, is a doubt.
    package var silence = Duration.milliseconds(2500)
    /// No word for this long is a loss: within 5 s of it, since the last word came before.
    package var silentLoss = Duration.milliseconds(4600)
    /// A doubt that has another cause, as a link that went down, is a loss after this time. What is over in less than 2 s is
    /// told to nobody, and a return has a second to be noticed in.
    package var loss = Duration.milliseconds(2900)
    /// Between two probes while there is a doubt, and after a change of the network.
    package var eager = Duration.milliseconds(500)
    /// For how long after a change of the network probes are eager.
    package var eagerness = Duration.seconds(3)
    /// Between two probes while the gateway is out of reach, ± 20 %: with the time of a probe, a return is noticed within 5 s.
    package var patient = Duration.milliseconds(3400)
    /// Between two probes in the place of heartbeats, while another has the event stream or it is being opened.
    package var steady = Duration.seconds(2)
    /// The longest time for a probe.
    package var probe = Duration.seconds(2)
    /// How many probes are under way at once.
    package var probes = 4
    /// Between two calls to open the event stream anew while the gateway stays within reach.
    package var call = Duration.seconds(4)

    package init() {}
}
