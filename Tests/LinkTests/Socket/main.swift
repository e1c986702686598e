// Links the sockets alone, without a store, an authorization, sessions or a gateway.
import SallyportSocket

print(SocketSystem.self)
