extension Substring {
    /// Without those bytes at both ends; none of them may be part of a longer character.
    package func trimming(_ isOuter: (UInt8) -> Bool) -> Substring {
        guard let first = utf8.firstIndex(where: { !isOuter($0) }), let last = utf8.lastIndex(where: { !isOuter($0) })
        else { return "" }
        return self[first..<utf8.index(after: last)]
    }
}

extension String {
    /// Without those bytes at both ends; none of them may be part of a longer character.
    package func trimming(_ isOuter: (UInt8) -> Bool) -> Substring { self[...].trimming(isOuter) }
}
