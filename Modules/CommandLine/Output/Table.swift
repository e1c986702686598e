/// Columns for people, aligned by the widest cell.
struct Table {
    private var rows: [[String]]

    init(_ header: [String]) { rows = [header] }

    mutating func append(_ row: [String]) { rows.append(row.map(OneLine.of)) }

    var text: String {
        let columns = rows[0].indices
        let widths = columns.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = columns.map { column in
                row[column] + String(repeating: " ", count: widths[column] - row[column].count)
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
        .joined(separator: "\n")
    }
}
