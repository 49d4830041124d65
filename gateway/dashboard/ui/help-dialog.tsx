import { helpTexts } from '#dashboard/texts/help.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { HelpLink } from './help-link.tsx'

interface HelpDialogProps {
  screen: keyof ReturnType<typeof helpTexts>['screens']
  /** Title of the screen, as in its heading. */
  title: string
  onClose: () => void
}

/** Purpose of a screen in one sentence, with a link to the docs. */
export function HelpDialog({ screen, title, onClose }: HelpDialogProps) {
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
