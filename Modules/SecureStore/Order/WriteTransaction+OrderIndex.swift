extension WriteTransaction: OrderSource {
    func entry(from label: OrderLabel, in index: OrderIndex) throws(StoreError) -> OrderEntry? {
        try entry(.forwards, from: label, in: index)
    }

    func lastEntry(in index: OrderIndex) throws(StoreError) -> OrderEntry? {
        try entry(.backwards, from: .greatest, in: index)
    }

    private enum Direction { case forwards, backwards }

    /// The entry as this transaction sees it, with its own and earlier writers' changes.
    private func entry(
        _ direction: Direction, from start: OrderLabel, in index: OrderIndex
    ) throws(StoreError) -> OrderEntry? {
        var start: OrderLabel? = start
        while let label = start {
            guard let found = try nearest(direction, to: label, in: index) else { return nil }
            let place = index.place(of: found)
            if let record = try record(at: place) { return try index.entry(record, at: place) }
            // It was removed.
            start = direction == .forwards ? found.next : found.previous
        }
        return nil
    }

    /// The nearest label that the tree contains or that was changed.
    private func nearest(
        _ direction: Direction, to label: OrderLabel, in index: OrderIndex
    ) throws(StoreError) -> OrderLabel? {
        let (place, identifier) = (index.place(of: label), index.cipher.identifier)
        switch direction {
        case .forwards:
            let stored = try tree.first(from: place, prefix: identifier).flatMap { index.label(ofPlace: $0.place) }
            return [stored, changes.label(from: label, of: identifier)].compactMap(\.self).min()
        case .backwards:
            let stored = try tree.last(upTo: place, prefix: identifier).flatMap { index.label(ofPlace: $0.place) }
            return [stored, changes.label(upTo: label, of: identifier)].compactMap(\.self).max()
        }
    }
}

// MARK: Changing an index

extension WriteTransaction {
    /// Adds a key to its collection's index if it is missing, and returns its label.
    func enter(_ key: [UInt8], orderOf cipher: RecordCipher) throws(StoreError) -> OrderLabel {
        let index = OrderIndex(of: cipher.identifier, in: ring)
        let position = try position(of: key, in: index)
        if let own = position.own { return own }
        let label: OrderLabel
        if let free = OrderLabel.between(position.lower, position.upper) {
            label = free
        } else {
            label = try makeRoom(behind: position.lower, in: index, of: cipher)
        }
        try put(OrderEntry(label: label, key: key), in: index)
        return label
    }

    /// Removes a key from the index of its collection.
    func leave(_ label: OrderLabel, orderOf cipher: RecordCipher) throws(StoreError) {
        try remove(label, from: OrderIndex(of: cipher.identifier, in: ring))
    }

    /// Removes a key whose record cannot be decrypted, so that its label is not known.
    func leave(_ key: [UInt8], orderOf cipher: RecordCipher) throws(StoreError) {
        let index = OrderIndex(of: cipher.identifier, in: ring)
        guard let label = try position(of: key, in: index).own else { return }
        try remove(label, from: index)
    }

    func leaveAll(orderOf cipher: RecordCipher) throws(StoreError) {
        let index = OrderIndex(of: cipher.identifier, in: ring)
        for place in try records(of: index.cipher.identifier).keys {
            guard let label = index.label(ofPlace: place) else { continue }
            try remove(label, from: index)
        }
        try mendSummary(ofEmpty: index.cipher, named: index.name)
    }

    private func put(_ entry: OrderEntry, in index: OrderIndex) throws(StoreError) {
        let place = index.place(of: entry.label)
        let record = try index.cipher.seal(Record(key: entry.key, value: []), at: place)
        note(entry.label, of: index.cipher.identifier)
        try replace(record, at: place, in: index.cipher, named: index.name)
    }

    private func remove(_ label: OrderLabel, from index: OrderIndex) throws(StoreError) {
        note(label, of: index.cipher.identifier)
        try replace(nil, at: index.place(of: label), in: index.cipher)
    }

    // MARK: Room

    /// Moves the entries after a label, as few as possible or else all, and returns a free label after it.
    private func makeRoom(
        behind lower: OrderLabel?, in index: OrderIndex, of cipher: RecordCipher
    ) throws(StoreError) -> OrderLabel {
        var moved: [OrderEntry] = []
        var count = 1
        while true {
            let isAll = try take(upTo: count, behind: lower, in: index, into: &moved)
            let end = try moved.last?.label.next.flatMap { label throws(StoreError) in
                try entry(from: label, in: index)?.label
            }
            if let labels = OrderLabel.spread(
                moved.count + 1, between: lower ?? .least, and: end ?? .greatest)
            {
                try move(moved, to: labels.dropFirst(), in: index, of: cipher)
                return labels[0]
            }
            if isAll { break }
            count *= 2
        }
        return try spreadAll(behind: lower, in: index, of: cipher)
    }

    /// Adds entries that follow a label and those in `entries`, until there are `count`; true if there are no more.
    private func take(
        upTo count: Int, behind lower: OrderLabel?, in index: OrderIndex, into entries: inout [OrderEntry]
    ) throws(StoreError) -> Bool {
        while entries.count < count {
            let start = entries.last?.label ?? lower
            guard let label = start.map(\.next) ?? .least, let entry = try entry(from: label, in: index) else {
                return true
            }
            entries.append(entry)
        }
        return false
    }

    private func spreadAll(
        behind lower: OrderLabel?, in index: OrderIndex, of cipher: RecordCipher
    ) throws(StoreError) -> OrderLabel {
        var entries: [OrderEntry] = []
        _ = try take(upTo: .max, behind: nil, in: index, into: &entries)
        var labels = OrderLabel.spread(entries.count + 1)
        let free = labels.remove(at: entries.prefix { entry in lower.map { entry.label <= $0 } ?? false }.count)
        try move(entries, to: labels[...], in: index, of: cipher)
        return free
    }

    /// Changes the labels of entries, in the index and in their records.
    private func move(
        _ entries: [OrderEntry], to labels: ArraySlice<OrderLabel>, in index: OrderIndex, of cipher: RecordCipher
    ) throws(StoreError) {
        for entry in entries { try remove(entry.label, from: index) }
        for (entry, label) in zip(entries, labels) {
            try put(OrderEntry(label: label, key: entry.key), in: index)
            let place = cipher.place(of: entry.key)
            // A record that cannot be decrypted is found by its key when it is replaced.
            guard let old = try record(at: place), var record = try? cipher.open(old, at: place) else { continue }
            record.label = label
            try replace(cipher.seal(record, at: place), at: place, in: cipher)
        }
    }
}
