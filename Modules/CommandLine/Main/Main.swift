import SallyportCommandLine

/// The entry point of `sallyport`.
@main
enum Main {
    static func main() async { await Program.run() }
}
