extension Substring {
    /// Removes such bytes at both ends; none of them may be part of a multi-byte character.
    package func trimming(_ isOuter: (UInt8) -> Bool) -> Substring {
        guard let first = utf8.firstIndex(where: { !isOuter($0) }), let last = utf8.lastIndex(where: { !isOuter($0) })
        else { return "" }
        return self[first..<utf8.index(after: last)]
    }
}

extension String {
    /// Removes such bytes at both ends; none of them may be part of a multi-byte character.
    package func trimming(_ isOuter: (UInt8) -> Bool) -> Substring { self[...].trimming(isOuter) }
}
