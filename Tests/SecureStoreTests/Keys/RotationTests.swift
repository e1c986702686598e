import FoundationEssentials
import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

@Suite struct RotationTests {
    private func fill(_ store: SecureStore, _ count: Int) async throws {
        try await store.write { transaction in
            let numbers: StoreCollection<Int, [UInt8]> = store.collection("n", of: [UInt8].self, keyedBy: Int.self)
            for number in 0..<count { try transaction.set([UInt8(number & 255)], for: number, in: numbers) }
        }
    }

    private func check(_ store: SecureStore, _ count: Int) throws {
        let numbers: StoreCollection<Int, [UInt8]> = store.collection("n", of: [UInt8].self, keyedBy: Int.self)
        try store.read { snapshot in
            try snapshot.verify(numbers)
            #expect(try snapshot.count(of: numbers) == count)
            for number in 0..<count {
                #expect(try snapshot.value(for: number, in: numbers) == [UInt8(number & 255)])
            }
        }
    }

    /// The data keys that records in the tree name.
    private func keysInUse(_ store: SecureStore) throws -> Set<UInt32> {
        try store.read { snapshot in
            var found: Set<UInt32> = []
            try snapshot.tree.scan(from: [0]) { _, record in
                found.insert(RecordCipher.dataKeyID(of: record))
                return true
            }
            return found
        }
    }

    private static let idle: StoreOptions = {
        var options = StoreOptions()
        options.rotatesInBackground = false
        return options
    }()

    @Test func newRecordsHaveTheNewKeyAtOnceAndOldOnesFollow() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        try await fill(store, 1000)
        try await store.rotateDataKey()
        #expect(try keysInUse(store) == [1])
        try await fill(store, 1)
        #expect(try keysInUse(store) == [1, 2])
        try check(store, 1000)
        try await store.finishRotation()
        #expect(try keysInUse(store) == [2])
        #expect(store.ring.dataKeys.map(\.id) == [2])
        try check(store, 1000)
        store.close()
        let again = try await fixture.open(Self.idle)
        #expect(again.ring.dataKeys.map(\.id) == [2])
        try check(again, 1000)
    }

    /// The process ends with a part of the records encrypted anew: the next one goes on by itself.
    @Test func aRotationGoesOnAfterReopeningHalfWay() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        try await fill(store, 3000)
        try await store.rotateDataKey()
        // One batch of the walk, as the writer's thread does it, and no more.
        try await store.write { transaction in
            let (next, damaged) = try transaction.reencrypt(from: [0])
            #expect(next != nil && damaged == 0)
        }
        store.close()
        let half = try await fixture.open(Self.idle)
        #expect(try keysInUse(half) == [1, 2])
        #expect(half.ring.dataKeys.map(\.id) == [1, 2])
        try check(half, 3000)
        half.close()
        let again = try await fixture.open()
        try await again.finishRotation()
        #expect(try keysInUse(again) == [2])
        #expect(again.ring.dataKeys.map(\.id) == [2])
        try check(again, 3000)
    }

    @Test func rotationsUnderWayAreAllFinishedByOneWalk() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        for round in 1...11 {
            try await fill(store, 20 * round)
            try await store.rotateDataKey()
        }
        let error = await #expect(throws: StoreError.self) { try await store.rotateDataKey() }
        #expect(error?.code == .full)
        try check(store, 220)
        try await store.finishRotation()
        #expect(try keysInUse(store) == [12])
        try check(store, 220)
    }

    @Test(.timeLimit(.minutes(1))) func aKeyThatIsMadeDuringAWalkMakesItStartAgain() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        try await fill(store, 3000)
        try await store.rotateDataKey()
        // One batch of the walk, as the writer's thread does it, and no more.
        store.upkeep.beginRotation(for: store.ring.currentID)
        let batch = try #require(RotationWork(ring: store.ring, upkeep: store.upkeep).nextPart())
        #expect(store.writer?.enqueue(batch) == true)
        try await store.write { _ in }
        #expect(try keysInUse(store) == [1, 2])
        try await store.rotateDataKey()
        store.writer?.startBackgroundWork()
        try await store.finishRotation()
        #expect(try keysInUse(store) == [3])
        #expect(store.ring.dataKeys.map(\.id) == [3])
        store.close()
        let again = try await fixture.open(Self.idle)
        try check(again, 3000)
    }

    @Test func writersGoOnWhileARotationIsUnderWay() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        try await fill(store, 2000)
        try await store.rotateDataKey()
        let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
        for number in 0..<20 { try await store.write { try $0.set("\(number)", for: number, in: texts) } }
        try await store.finishRotation()
        #expect(store.ring.dataKeys.map(\.id) == [2])
        try check(store, 2000)
        #expect(try store.read { try $0.count(of: texts) } == 20)
    }

    @Test func aReaderBesideTheWriterFindsTheNewKey() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        try await fill(store, 10)
        let (reader, _) = try KeyRingFile.open(in: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
        let keys = KeyReader(
            path: fixture.directory, protector: .keyFile(fixture.keyFile), memory: reader.memory)
        reader.follow(keys)
        try await store.rotateDataKey()
        #expect(reader.dataKey(id: 2) != nil)
        #expect(reader.dataKey(id: 3) == nil)
    }

    /// The other process encrypts all records with a new key when the file of the keys has been read.
    @Test func aReaderThatIsOpenedBesideARotationFindsTheNewKey() async throws {
        let fixture = try StoreFixture()
        try await fixture.fill(20)
        let writer = try RotatingWriter(of: fixture)
        let protector = InterruptingProtector(KeyFileProtector(path: fixture.keyFile)) { () throws(StoreError) in
            do { for step in ["begin", "finish"] { try writer.perform(step) } } catch {
                throw StoreError(.internalFailure, "The other process failed.", underlying: error)
            }
        }
        let store = try await SecureStore.open(at: fixture.directory, protectedBy: protector, options: .readOnly)
        #expect(writer.done == ["begin", "finish"])
        #expect(try keysInUse(store) == [2])
        #expect(try fixture.workload.content(of: store) == fixture.workload.expected(after: 21))
    }

    @Test func dataWhoseKeyIsBehindAnotherProtectorIsNotCalledDamaged() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        try await fill(store, 10)
        let (ring, _) = try KeyRingFile.open(in: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
        ring.follow(
            KeyReader(path: fixture.directory, protector: .keyFile(fixture.keyFile), memory: ring.memory))
        try await store.changeProtector(to: .keyFile("\(fixture.path)/other"))
        try await store.rotateDataKey()
        try await store.finishRotation()
        let error = #expect(throws: StoreError.self) {
            try RecordCheck.checkAnyOpens(in: store.environment, ring: ring)
        }
        #expect(error?.code == .wrongKey)
    }

    @Test func aReaderWithAnOldProtectorSaysThatTheKeyIsAnother() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        let (ring, _) = try KeyRingFile.open(in: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
        ring.follow(
            KeyReader(path: fixture.directory, protector: .keyFile(fixture.keyFile), memory: ring.memory))
        try await store.changeProtector(to: .keyFile("\(fixture.path)/other"))
        try await store.rotateDataKey()
        try await fill(store, 1)
        let name = Array("public\0n".utf8)
        let numbers = StoreCollection<Int, [UInt8]>(
            name: "n", order: .unordered, fullName: name, cipher: ring.cipher(ofCollection: name), codec: .bytes)
        try store.read { snapshot in
            let reader = ReadTransaction(tree: snapshot.tree, ring: ring)
            let value = #expect(throws: StoreError.self) { try reader.value(for: 0, in: numbers) }
            let place = numbers.cipher.place(of: 0.storeBytes)
            let record = try #require(try reader.record(at: place))
            // As a record is read that has more than a value.
            let bytes = #expect(throws: StoreError.self) {
                try numbers.cipher.bytes(
                    of: record, at: place, expecting: 0.storeBytes, named: "n", seenBy: reader)
            }
            let count = #expect(throws: StoreError.self) { try reader.count(of: numbers) }
            let all = #expect(throws: StoreError.self) { try reader.all(in: numbers) }
            #expect([value, bytes, count, all].map { $0?.code } == Array(repeating: .wrongKey, count: 4))
            var check = RecordCheck(ring: ring)
            let found = #expect(throws: StoreError.self) { try check.add(record, at: place, page: 2) }
            #expect(found?.code == .wrongKey)
        }
    }

    /// The file is in force, and its directory cannot be synced.
    @Test(.enabled(if: geteuid() != 0, "Root may read every directory."))
    func aKeyThatIsPerhapsNotDurableIsTheOneThatIsTriedAgain() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        try await fill(store, 10)
        chmod(fixture.directory, 0o300)
        let error = await #expect(throws: StoreError.self) { try await store.rotateDataKey() }
        chmod(fixture.directory, 0o700)
        #expect(error?.code == .fileSystem)
        try await fill(store, 1)
        #expect(try keysInUse(store) == [1], "A loss of power may take the new key away.")
        let (reader, _) = try KeyRingFile.open(in: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
        try await store.rotateDataKey()
        try await store.finishRotation()
        let known = try #require(reader.dataKey(id: 2)).withBytes { Array($0) }
        #expect(known == store.ring.current.key.withBytes { Array($0) }, "What a reader found is the key in use.")
        store.close()
        try check(await fixture.open(Self.idle), 10)
    }

    @Test func aKeyIsTheSameUntilItIsAdded() {
        let ring = KeyRing.generate()
        let (first, second) = (ring.makeDataKey(), ring.makeDataKey())
        #expect(first.id == 2 && second.id == 2)
        #expect(first.key.withBytes { Array($0) } == second.key.withBytes { Array($0) })
        ring.add(second)
        #expect(ring.makeDataKey().id == 3)
    }

    @Test func aReaderThatCouldNotReadTheKeysForAMomentFindsThemLater() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        let (reader, _) = try KeyRingFile.open(in: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
        let keys = KeyReader(
            path: fixture.directory, protector: .keyFile(fixture.keyFile), memory: reader.memory)
        reader.follow(keys)
        try await store.rotateDataKey()
        try FileManager.default.moveItem(atPath: fixture.keyFile, toPath: "\(fixture.path)/away")
        #expect(reader.dataKey(id: 2) == nil)
        try FileManager.default.moveItem(atPath: "\(fixture.path)/away", toPath: fixture.keyFile)
        #expect(reader.dataKey(id: 2) != nil)
    }

    @Test(.timeLimit(.minutes(1))) func whereNoTransactionCanBeginTheCallsEndInItsError() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        // The writer has done what it does after an opening.
        try await store.write { _ in }
        store.environment.close()
        let first = await #expect(throws: StoreError.self) { try await store.rotateDataKey() }
        let second = await #expect(throws: StoreError.self) { try await store.finishRotation() }
        let third = await #expect(throws: StoreError.self) {
            try await store.changeProtector(to: .keyFile(fixture.keyFile))
        }
        #expect(first?.code == .closed && second?.code == .closed && third?.code == .closed)
        #expect(store.ring.dataKeys.map(\.id) == [1])
    }

    @Test func aRecordThatDoesNotVerifyKeepsItsKey() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open(Self.idle)
        try await fill(store, 10)
        let numbers: StoreCollection<Int, [UInt8]> = store.collection("n", of: [UInt8].self, keyedBy: Int.self)
        let place = numbers.cipher.place(of: 3.storeBytes)
        try await store.write { transaction in
            var record = try #require(try transaction.record(at: place))
            record[40] ^= 1
            transaction.overwrite(place, with: record)
        }
        try await store.rotateDataKey()
        let error = await #expect(throws: StoreError.self) { try await store.finishRotation() }
        #expect(error?.code == .damaged)
        #expect(store.ring.dataKeys.map(\.id) == [1, 2])
        #expect(try keysInUse(store) == [1, 2])
    }

    /// A directory put back from a copy forgets which nonces were used since; none may depend on what it holds.
    @Test func noNonceComesAgainAfterABackupIsPutBack() async throws {
        let fixture = try StoreFixture()
        var nonces: Set<[UInt8]> = []
        try await fixture.open().close()
        let copy = "\(fixture.path)/copy"
        try FileManager.default.copyItem(atPath: fixture.directory, toPath: copy)
        for _ in 0..<5 {
            try FileManager.default.removeItem(atPath: fixture.directory)
            try FileManager.default.copyItem(atPath: copy, toPath: fixture.directory)
            let store = try await fixture.open()
            try await fill(store, 50)
            try store.read { snapshot in
                try snapshot.tree.scan(from: [0]) { _, record in
                    nonces.insert(Array(record[5..<29]))
                    return true
                }
            }
            store.close()
        }
        #expect(nonces.count == 5 * 51)
    }
}

@Suite struct ProtectorChangeTests {
    @Test func theNewProtectorOpensAndTheOldOneDoesNot() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { try $0.set("x", for: "a", in: texts) }
        let before = try Data(contentsOf: URL(fileURLWithPath: "\(fixture.directory)/data.mdb"))
        let passphrase = PassphraseProtector(passphrase: "correct horse", cost: .init(exponent: 10))
        try await store.changeProtector(to: passphrase)
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(fixture.directory)/data.mdb")) == before)
        try await store.write { try $0.set("y", for: "b", in: texts) }
        store.close()
        #expect(await #expect(throws: StoreError.self) { try await fixture.open() }?.code == .wrongKey)
        let again = try await SecureStore.open(at: fixture.directory, protectedBy: passphrase)
        let values = try again.read { try $0.all(in: again.collection("t", of: String.self, keyedBy: String.self)) }
        #expect(Set(values.map(\.1)) == ["x", "y"])
    }

    @Test func aChangeKeepsARotationUnderWay() async throws {
        let fixture = try StoreFixture()
        var options = StoreOptions()
        options.rotatesInBackground = false
        let store = try await fixture.open(options)
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { try $0.set("x", for: "a", in: texts) }
        try await store.rotateDataKey()
        try await store.changeProtector(to: .keyFile("\(fixture.path)/other"))
        try await store.rotateDataKey()
        store.close()
        let again = try await SecureStore.open(
            at: fixture.directory, protectedBy: .keyFile("\(fixture.path)/other"), options: options)
        #expect(again.ring.dataKeys.map(\.id) == [1, 2, 3])
        #expect(try again.read { try $0.value(for: "a", in: again.collection("t", of: String.self)) } == "x")
    }

    /// The old content is of a file that cannot be synced.
    @Test func aChangeTakesEffectThoughTheOldFileCannotBeOverwritten() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        unlink("\(fixture.directory)/keys")
        try #require(symlink("/dev/null", "\(fixture.directory)/keys") == 0)
        try await store.changeProtector(to: .keyFile("\(fixture.path)/other"))
        try await store.rotateDataKey()
        store.close()
        try await SecureStore.open(at: fixture.directory, protectedBy: .keyFile("\(fixture.path)/other")).close()
    }

    @Test(.enabled(if: geteuid() != 0, "Root may read every directory."))
    func aChangeThatCannotBeSyncedSaysSoAndIsGoneOnFrom() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        chmod(fixture.directory, 0o300)
        let error = await #expect(throws: StoreError.self) {
            try await store.changeProtector(to: .keyFile("\(fixture.path)/other"))
        }
        chmod(fixture.directory, 0o700)
        #expect(error?.code == .fileSystem && error?.message.contains("either secret") == true)
        try await store.rotateDataKey()
        store.close()
        try await SecureStore.open(at: fixture.directory, protectedBy: .keyFile("\(fixture.path)/other")).close()
    }

    /// A protector that fails changes nothing.
    @Test func aProtectorThatFailsLeavesTheOldOne() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let error = await #expect(throws: StoreError.self) {
            try await store.changeProtector(to: .passphrase(""))
        }
        #expect(error?.code == .keyUnavailable)
        store.close()
        try await fixture.open().close()
    }
}
