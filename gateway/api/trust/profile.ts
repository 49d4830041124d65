import { createHash, type X509Certificate } from 'node:crypto'

/**
 * A configuration profile by which an iPad takes a certificate as that of an authority. The same certificate makes the same
 * profile, so that a second one takes the place of the first. Source: Apple, Device Management, CertificateRoot.
 */
export function profileOf({ raw, fingerprint256 }: X509Certificate): string {
  const id = (part: string) => {
    const hex = createHash('sha256').update(`${part} ${fingerprint256}`).digest('hex')
    return hex
      .slice(0, 32)
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      .toUpperCase()
  }
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>PayloadContent</key><array><dict>
<key>PayloadCertificateFileName</key><string>cartbarn.crt</string>
<key>PayloadContent</key><data>${raw.toString('base64')}</data>
<key>PayloadDisplayName</key><string>cartbarn</string>
<key>PayloadIdentifier</key><string>cartbarn.authority.certificate</string>
<key>PayloadType</key><string>com.apple.security.root</string>
<key>PayloadUUID</key><string>${id('certificate')}</string>
<key>PayloadVersion</key><integer>1</integer>
</dict></array>
<key>PayloadDisplayName</key><string>cartbarn</string>
<key>PayloadIdentifier</key><string>cartbarn.authority</string>
<key>PayloadType</key><string>Configuration</string>
<key>PayloadUUID</key><string>${id('profile')}</string>
<key>PayloadVersion</key><integer>1</integer>
</dict></plist>
`
}
