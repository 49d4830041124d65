import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { brokerChoices, type Credential, isLoopback, toCredentialsCsv, toQrText } from '#dashboard/live/credentials.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { useUnsaved } from '#dashboard/ui/unsaved.ts'
import { QrCode } from '../more/qr-code.tsx'

/** Passwords that are shown only once: one on the screen, and all of them on paper or in a file. */
export function Credentials({ of }: { of: readonly Credential[] }) {
  const { site } = useDashboard()
  const texts = deviceTexts()
  const choices = useBrokerChoices()
  const [typed, setBroker] = useState<string | null>(null)
  const broker = typed ?? choices[0] ?? ''
  const [saved, setSaved] = useState<ReadonlySet<Credential>>(new Set())
  const unsaved = of.filter((one) => !saved.has(one)).length
  useUnsaved(unsaved === 0 ? null : texts.leaveUnsaved(unsaved))
  const keep = (action: () => void) => {
    action()
    setSaved(new Set(of))
  }
  const [only] = of.length === 1 ? of : []
  const title = useRef<HTMLHeadingElement>(null)
  // the button that created them may be far below on a long page
  useEffect(() => {
    title.current?.scrollIntoView({ block: 'start' })
    title.current?.focus({ preventScroll: true })
  }, [])
  return (
    <section class="panel" role="status">
      <h2 ref={title} tabIndex={-1}>
        {only === undefined ? texts.leaveTitle(of.length) : texts.credentials}
      </h2>
      <p>{only === undefined ? texts.manyWhy : texts.credentialsWhy}</p>
      <TextField name={texts.broker} max={200} value={broker} onInput={setBroker} />
      {isLoopback(broker) && <p class="error">{texts.loopback}</p>}
      <div class="row">
        {choices
          .filter((choice) => choice !== broker)
          .map((choice) => (
            <Button text={choice} key={choice} onClick={() => setBroker(choice)} />
          ))}
      </div>
      {only !== undefined && <One credential={only} broker={broker} />}
      <div class="row">
        <Button text={texts.print} is="main" onClick={() => keep(() => void printSheet(broker, of))} />
        <Button
          text={texts.csv}
          onClick={() => keep(() => saveCsv('devices.csv', toCredentialsCsv(broker, of, site.value.language)))}
        />
      </div>
    </section>
  )
}

/** Returns the possible addresses of the broker; empty until the gateway has sent them, and if it does not. */
function useBrokerChoices(): readonly string[] {
  const { api } = useDashboard()
  const [choices, setChoices] = useState<readonly string[]>([])
  useEffect(() => {
    api.call('GET /mqtt/addresses').then(
      ({ addresses }) => setChoices(brokerChoices(location.hostname, addresses)),
      () => undefined,
    )
  }, [api])
  return choices
}

function One({ credential, broker }: { credential: Credential; broker: string }) {
  const texts = deviceTexts()
  return (
    <>
      <QrCode text={toQrText(broker, credential)} />
      <Facts
        of={[
          [texts.username, <span class="address">{credential.hardwareId}</span>],
          [texts.password, <span class="address">{credential.password}</span>],
        ]}
      />
    </>
  )
}

/** Prints a cell for each device: its names, its QR code, and the content of the code. */
async function printSheet(broker: string, credentials: readonly Credential[]): Promise<void> {
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
  // outside the app, which is hidden in print
  document.body.append(sheet)
  print()
  // the passwords must not stay in the page
  addEventListener('afterprint', () => sheet.remove(), { once: true })
}
