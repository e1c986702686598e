// Links every module of the client's side but the bridge to Foundation.
import Sallyport
import SallyportCassette
import SallyportDataURL
import SallyportPKCS11Protector
import SallyportPluginConformance
import SallyportUnixSocket

print(
    Sallyport.self, DataURLHandler.self, PKCS11Protector.self, PluginConformance.self, UnixSocketURL.self, Cassette.self
)
