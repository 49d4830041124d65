import { render } from 'preact'
import { type Credential, toQrText } from '#dashboard/live/credentials.ts'

/** Prints a cell for each device: what people call it, its QR code, and what it says. */
export async function printSheet(broker: string, credentials: readonly Credential[]): Promise<void> {
  const { qrPath } = await import('../more/qr-path.ts')
  document.querySelector('.credential-sheet')?.remove()
  const sheet = document.createElement('div')
  sheet.className = 'credential-sheet'
  render(
    credentials.map((credential) => {
      const { hardwareId, name, cart, password } = credential
      const { d, size } = qrPath(toQrText(broker, credential))
      return (
        <div key={hardwareId} class="credential-cell">
          <svg viewBox={`-2 -2 ${size + 4} ${size + 4}`} aria-hidden="true" shape-rendering="crispEdges">
            <path d={d} fill="#000000" />
          </svg>
          <div>
            {cart !== null && <p class="credential-cart">{cart}</p>}
            {name !== null && <p>{name}</p>}
            <p>{hardwareId}</p>
            <p class="credential-secret">{password}</p>
          </div>
        </div>
      )
    }),
    sheet,
  )
  // beside the app: of that nothing is printed
  document.body.append(sheet)
  print()
  // nobody finds the passwords in the page later
  addEventListener('afterprint', () => sheet.remove(), { once: true })
}
