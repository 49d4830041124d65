import { reportTexts } from '#dashboard/texts/reports.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'

interface WaitingProps {
  fault: string | null
  again: () => void
  /** Text to show once the response is there; null for none. */
  message: string | null
  isHere: boolean
}

/** Placeholder of a report that is loading, failed or empty. */
export function ReportPlaceholder({ fault, again, message, isHere }: WaitingProps) {
  const texts = reportTexts()
  return (
    <div role="status" class="reports-says">
      {fault === null && !isHere && <p>{texts.adding} …</p>}
      {message !== null && <p>{message}</p>}
      {fault !== null && (
        <>
          <Fault text={fault} />
          <Button text={texts.again} onClick={again} />
        </>
      )}
    </div>
  )
}
