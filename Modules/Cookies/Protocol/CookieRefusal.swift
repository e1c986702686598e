/// Why a server's cookie is ignored. Contains nothing of the cookie.
enum CookieRefusal: String, Error, Hashable, CaseIterable {
    /// §5.6 step 1.
    case controlCharacter
    /// §5.6 step 5: name and value have more than 4,096 bytes, or the default path of §5.3 has.
    case tooLong
    /// §5.7 step 2: neither name nor value.
    case empty
    /// §5.7 step 8: the domain is not a name in ASCII.
    case invalidDomain
    /// §5.7 step 9.
    case publicSuffix
    /// §5.7 step 10.
    case otherDomain
    /// §5.7 step 13: `Secure` over a connection that is not.
    case insecure
    /// §5.7 step 16: it would shadow a secure cookie.
    case overSecure
    /// §5.7 step 18: from another site than the main document's.
    case crossSite
    /// §5.7 step 19: `SameSite=None` without `Secure`.
    case noneWithoutSecure
    /// §5.7 steps 20 to 22: the name's prefix requires what does not hold.
    case prefix
    /// The session's accept policy.
    case policy
}
