import '#dashboard/ui/pages.css'
import './key-shown.css'
import { useState } from 'preact/hooks'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { copyText } from '#dashboard/ui/copy-text.ts'
import { saveFile } from '#dashboard/ui/save-file.ts'
import { QrCode } from './qr-code.tsx'

/** Key that the gateway shows only once, with ways to keep it: the clipboard, a file, a camera. */
export function KeyShown({ apiKey, of }: { apiKey: string; of: string }) {
  const texts = signInTexts()
  const [isCopied, setCopied] = useState<boolean | null>(null)
  return (
    <>
      <p>
        <output class="box address key-shown">{apiKey}</output>
      </p>
      <div class="row">
        <Button text={texts.copy} onClick={() => void copyText(apiKey).then(setCopied)} />
        <Button
          text={texts.saveFile}
          onClick={() => saveFile('cartbarn-key.txt', `${of}\n${location.origin}/app/\n${apiKey}\n`)}
        />
      </div>
      <p role="status" class="small">
        {isCopied === null ? '' : isCopied ? texts.copied : texts.notCopied}
      </p>
      <details>
        <summary>{texts.qr}</summary>
        <QrCode text={apiKey} />
      </details>
    </>
  )
}
