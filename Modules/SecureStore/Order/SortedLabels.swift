/// A sorted set of labels.
struct SortedLabels: Sendable {
    private var labels: [OrderLabel] = []

    mutating func insert(_ label: OrderLabel) {
        let index = firstIndex(from: label)
        if index < labels.count, labels[index] == label { return }
        labels.insert(label, at: index)
    }

    mutating func formUnion(_ other: SortedLabels) {
        var merged: [OrderLabel] = []
        merged.reserveCapacity(labels.count + other.labels.count)
        var (left, right) = (labels[...], other.labels[...])
        while let first = left.first, let second = right.first {
            merged.append(min(first, second))
            if first <= second { left.removeFirst() }
            if second <= first { right.removeFirst() }
        }
        labels = merged + left + right
    }

    /// The first label that is not less.
    func first(from label: OrderLabel) -> OrderLabel? {
        let index = firstIndex(from: label)
        return index < labels.count ? labels[index] : nil
    }

    /// The last label that is not greater.
    func last(upTo label: OrderLabel) -> OrderLabel? {
        let index = firstIndex(from: label)
        if index < labels.count, labels[index] == label { return label }
        return index > 0 ? labels[index - 1] : nil
    }

    private func firstIndex(from label: OrderLabel) -> Int {
        var (start, end) = (0, labels.count)
        while start < end {
            let middle = start + (end - start) / 2
            if labels[middle] < label { start = middle + 1 } else { end = middle }
        }
        return start
    }
}
