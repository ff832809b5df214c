//! Runs a program on a terminal of its own, and answers its questions.
//!
//! Python's `pty` module makes the terminal. An answer is sent once the output ends like a question. After the last answer, a question
//! gets control-C.

use testkit::{Output, Tool};

/// Runs `tool` on a terminal with these answers. `^C`, `^D` and `^\` stand for the control characters. The transcript is the standard output.
pub fn run(tool: &Tool, answers: &[&str]) -> Output {
    let shown = tool.to_string();
    let command = tool.command();
    // The system's, which starts faster than one of a version manager.
    let system = "/usr/bin/python3";
    let program = if std::path::Path::new(system).exists() {
        system
    } else {
        "python3"
    };
    let mut python = Tool::new(program)
        // Without what it needs for packages, it starts in half of the time.
        .args(["-S", "-c", SCRIPT])
        .arg(answers.len().to_string())
        .args(answers)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            python = python.env(&name.to_string_lossy(), value);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        python = python.dir(dir);
    }
    let output = python.run();
    assert!(output.err().is_empty(), "{shown}: {output:?}");
    output
}

const SCRIPT: &str = r#"
import os, pty, select, sys
count = int(sys.argv[1])
answers = sys.argv[2:2 + count]
command = sys.argv[2 + count:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
out = b''
while True:
    is_question = out.endswith((b': ', b'? '))
    ready, _, _ = select.select([fd], [], [], 0.05 if is_question else 30)
    if ready:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
    elif is_question:
        answer = answers.pop(0) if answers else '^C'
        keys = {'^C': b'\x03', '^D': b'\x04', '^\\': b'\x1c'}.get(answer, os.fsencode(answer) + b'\r')
        os.write(fd, keys)
        select.select([fd], [], [], 30)
    else:
        out += b'[silent]'
        os.kill(pid, 9)
        break
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out.replace(b'\r\n', b'\n'))
sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"#;
