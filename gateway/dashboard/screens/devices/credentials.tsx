import { useState } from 'preact/hooks'
import { type Credential, toCredentialsCsv, toQrText, usualBroker } from '#dashboard/live/credentials.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { QrCode } from '../more/qr-code.tsx'
import { printSheet } from './print-sheet.tsx'

/** Passwords that are shown only now: one of them at once, and all of them on paper or as a file. */
export function Credentials({ of }: { of: readonly Credential[] }) {
  const texts = deviceTexts()
  const [broker, setBroker] = useState(() => usualBroker(location.hostname))
  const [only] = of.length === 1 ? of : []
  return (
    <section class="panel" role="status">
      <h2>{only === undefined ? texts.leaveTitle(of.length) : texts.credentials}</h2>
      <p>{only === undefined ? texts.manyWhy : texts.credentialsWhy}</p>
      <TextField name={texts.broker} max={200} value={broker} onInput={setBroker} />
      {only !== undefined && <One credential={only} broker={broker} />}
      <div class="row">
        <button type="button" class="button main" onClick={() => void printSheet(broker, of)}>
          {texts.print}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => saveCsv('devices.csv', toCredentialsCsv(broker, of))}
        >
          {texts.csv}
        </button>
      </div>
    </section>
  )
}

function One({ credential, broker }: { credential: Credential; broker: string }) {
  const texts = deviceTexts()
  return (
    <>
      <QrCode text={toQrText(broker, credential)} />
      <dl class="facts">
        <dt>{texts.username}</dt>
        <dd class="address">{credential.hardwareId}</dd>
        <dt>{texts.password}</dt>
        <dd class="address">{credential.password}</dd>
      </dl>
    </>
  )
}
