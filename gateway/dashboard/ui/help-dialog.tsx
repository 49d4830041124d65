import { helpTexts } from '#dashboard/texts/help.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import type { HelpButtonProps } from './help-button.tsx'
import { HelpLink } from './help-link.tsx'

/** Purpose of a screen in one sentence, with a link to the docs. */
export function HelpDialog({ screen, title, onClose }: HelpButtonProps & { onClose: () => void }) {
  const texts = helpTexts()
  return (
    <Dialog title={title} onCancel={onClose}>
      <p>{texts.screens[screen]}</p>
      <div class="dialog-buttons">
        <Button text={texts.close} onClick={onClose} />
        <HelpLink topic={screen} words={texts.more} />
      </div>
    </Dialog>
  )
}
