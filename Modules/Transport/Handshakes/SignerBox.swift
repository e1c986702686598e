internal import CIdentitySigner
internal import SallyportCore

/// Holds an ``IdentitySigner`` for OpenSSL.
final class SignerBox {
    let signer: any IdentitySigner
    init(_ signer: any IdentitySigner) { self.signer = signer }
}

/// Called by OpenSSL in a handshake; the length of the signature, or 0.
func sign(
    _ box: UnsafeMutableRawPointer?, _ operation: Int32, _ input: UnsafePointer<UInt8>?, _ count: Int32,
    _ output: UnsafeMutablePointer<UInt8>?, _ capacity: Int32
) -> Int32 {
    guard let box = unsafe box, let output = unsafe output else { return 0 }
    let signer = unsafe Unmanaged<SignerBox>.fromOpaque(box).takeUnretainedValue().signer
    let input = unsafe Array(UnsafeBufferPointer(start: input, count: Int(count)))
    let kind: SigningOperation =
        switch operation {
        case SALLYPORT_SIGN_RSA_PKCS1: .rsaPKCS1
        case SALLYPORT_SIGN_RSA_RAW: .rsaRaw
        default: .ecdsa
        }
    guard let signature = try? signer.signature(of: input, by: kind), signature.count <= Int(capacity) else { return 0 }
    unsafe output.update(from: signature, count: signature.count)
    return Int32(signature.count)
}

func releaseSigner(_ box: UnsafeMutableRawPointer?) {
    guard let box = unsafe box else { return }
    unsafe Unmanaged<SignerBox>.fromOpaque(box).release()
}
