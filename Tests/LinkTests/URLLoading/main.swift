// Links the session alone, without a store, an authorization or a gateway.
import SallyportURLLoading

print(SecureSession.self)
