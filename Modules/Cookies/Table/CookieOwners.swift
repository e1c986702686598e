internal import SallyportCore

/// The cookies of each principal. Those of the instance, in whose name most requests are made, are found without
/// hashing.
struct CookieOwners {
    private var instance: PrincipalCookies?
    private var others: [Principal: PrincipalCookies] = [:]

    subscript(principal: Principal) -> PrincipalCookies? {
        get { principal == .instance ? instance : others[principal] }
        _modify {
            if principal == .instance { yield &instance } else { yield &others[principal] }
        }
    }

    /// Moves the cookies out, so that they can be changed without a copy.
    mutating func take(_ principal: Principal) -> PrincipalCookies? {
        guard principal == .instance else { return others.removeValue(forKey: principal) }
        defer { instance = nil }
        return instance
    }

    var all: [Principal] { (instance == nil ? [] : [.instance]) + others.keys }

    /// The principal that has the most cookies.
    var largest: Principal? { all.max { count(of: $0) < count(of: $1) } }

    private func count(of principal: Principal) -> Int { self[principal]?.count ?? 0 }
}
