import SallyportGateway

#if PostgreSQL
import SallyportPostgreSQL
#endif

extension GatewayHost {
    /// Opens the databases of fleets; nil in a program without the trait `PostgreSQL`.
    static var databases: DatabaseOpener? {
        #if PostgreSQL
        { try PostgresDatabase($0) }
        #else
        nil
        #endif
    }
}
