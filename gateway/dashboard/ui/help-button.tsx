import { useState } from 'preact/hooks'
import { helpTexts } from '#dashboard/texts/help.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { HelpLink } from './help-link.tsx'

interface HelpButtonProps {
  screen: keyof ReturnType<typeof helpTexts>['screens']
  /** Title of the screen, as in its heading. */
  title: string
}

/** Purpose of a screen in one sentence, with a link to the docs. */
export function HelpButton({ screen, title }: HelpButtonProps) {
  const texts = helpTexts()
  const [isOpen, open] = useState(false)
  return (
    <>
      <button type="button" class="button" aria-label={texts.help} onClick={() => open(true)}>
        ?
      </button>
      {isOpen && (
        <Dialog title={title} onCancel={() => open(false)}>
          <p>{texts.screens[screen]}</p>
          <div class="dialog-buttons">
            <Button text={texts.close} onClick={() => open(false)} />
            <HelpLink topic={screen} words={texts.more} />
          </div>
        </Dialog>
      )}
    </>
  )
}
