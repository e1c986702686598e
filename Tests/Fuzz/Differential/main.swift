// Compares so many generated answers: Differential COUNT [SEED]. Ends with 1 where there is a finding.

import AnswerReaders
import Glibc

private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

let numbers = CommandLine.arguments.dropFirst().compactMap(UInt64.init)
guard let count = numbers.first, numbers.count == CommandLine.arguments.count - 1 else {
    print("Differential COUNT [SEED]")
    exit(64)
}
var generator = AnswerGenerator(seed: numbers.count > 1 ? numbers[1] : 1)
let comparison = AnswerComparison()
var tally = AnswerTally()
let start = ContinuousClock.now

for number in 1...max(1, count) {
    let input = generator.next()
    let verdict = comparison.compare(AnswerCase(input: input))
    if tally.count(verdict), tally.findings <= 100 {
        print(
            "\(verdict)\n  \(hexadecimal(input))\n  \(String(decoding: input.dropFirst(), as: UTF8.self).debugDescription)"
        )
    }
    if number % 1_000_000 == 0 {
        print("\(number) …")
        fflush(nil)
    }
}
let time = ContinuousClock.now - start
print(tally)
print("\(Int(Double(count) / (Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18))) a second")
exit(tally.findings == 0 ? 0 : 1)
