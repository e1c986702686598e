// Links the bridge, which brings FoundationNetworking.
import SallyportFoundationBridge
import SallyportURLLoading

print(SecureSession.shared.foundationConfiguration())
