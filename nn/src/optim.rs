//! Optimisers: how parameters change by their derivatives.
//!
//! Invariant: a step computes the loss, all derivatives and all new parameters as one graph, which is the same in every step: rates and counts are inputs. After a step parameters are
//! given tensors, which keep nothing of earlier steps.

use crate::gradient::value_and_grad;
use crate::nn::{Module, Parameter};
use crate::plan::realize;
use crate::tensor::Tensor;
use girih_ir::Scalar;

/// Gradient descent, with momentum: Sutskever et al., On the importance of initialization and momentum in deep learning, 2013, in PyTorch's form.
#[derive(Debug)]
pub struct Sgd {
    state: State,
    /// The learning rate.
    pub rate: f32,
    /// How much of the last step counts for the next one.
    pub momentum: f32,
    /// The greatest norm of all derivatives together: longer ones are shortened to it.
    pub clip: Option<f32>,
}

/// Adam, and `AdamW`: Kingma, Ba, Adam: a method for stochastic optimization, 2014; with weights that decay by themselves: Loshchilov, Hutter, Decoupled weight decay regularization, 2017.
#[derive(Debug)]
pub struct Adam {
    state: State,
    /// The learning rate.
    pub rate: f32,
    /// How much of the mean of derivatives, and of their squares, stays in a step.
    pub betas: [f32; 2],
    /// What is added to a root before it divides.
    pub epsilon: f32,
    /// How much of a weight is lost in a step at learning rate 1: not 0 in `AdamW`.
    pub decay: f32,
    /// The greatest norm of all derivatives together: longer ones are shortened to it.
    pub clip: Option<f32>,
}

impl Sgd {
    /// For all parameters of a module.
    ///
    /// # Errors
    /// If the device has no memory for what is kept between steps.
    pub fn new(module: &impl Module, rate: f32) -> crate::Result<Sgd> {
        Ok(Sgd { state: State::new(module, 1)?, rate, momentum: 0.0, clip: None })
    }
    /// Changes the parameters so that a loss becomes less; gives the loss before.
    ///
    /// # Errors
    /// A mistake in the loss, or what the device says.
    pub fn step(&mut self, loss: &Tensor) -> crate::Result<Tensor> {
        let (rate, momentum) = (loss.device().scalar(self.rate), loss.device().scalar(self.momentum));
        self.state.step(loss, self.clip, |x, dx, kept| {
            let velocity = &kept[0] * &momentum + dx;
            (x - &velocity * &rate, vec![velocity])
        })
    }
}

impl Adam {
    /// For all parameters of a module.
    ///
    /// # Errors
    /// If the device has no memory for what is kept between steps.
    pub fn new(module: &impl Module, rate: f32) -> crate::Result<Adam> {
        Ok(Adam { state: State::new(module, 2)?, rate, betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.0, clip: None })
    }
    /// Changes the parameters so that a loss becomes less; gives the loss before.
    ///
    /// # Errors
    /// A mistake in the loss, or what the device says.
    pub fn step(&mut self, loss: &Tensor) -> crate::Result<Tensor> {
        let number = |number: f32| loss.device().scalar(number);
        let steps = self.state.steps as i32 + 1;
        // Means begin at 0, so the first ones are too small.
        let [first, second] = self.betas.map(|beta| number(1.0 / (1.0 - beta.powi(steps))));
        let [b0, b1] = self.betas.map(number);
        let (rate, decay, epsilon) = (number(self.rate), number(self.rate * self.decay), number(self.epsilon));
        self.state.step(loss, self.clip, |x, dx, kept| {
            let mean = &kept[0] * &b0 + dx * (1.0 - &b0);
            let square = &kept[1] * &b1 + dx.square() * (1.0 - &b1);
            let step = &mean * &first / ((&square * &second).sqrt() + &epsilon);
            (x - &step * &rate - x * &decay, vec![mean, square])
        })
    }
}

/// Parameters, and what an optimiser keeps of each between steps.
#[derive(Debug)]
struct State {
    trained: Vec<(Parameter, Vec<Tensor>)>,
    untrained: Vec<Parameter>,
    steps: u64,
}

impl State {
    fn new(module: &impl Module, count: usize) -> crate::Result<State> {
        let mut state = State { trained: vec![], untrained: vec![], steps: 0 };
        let all: Vec<Parameter> = module.parameters().into_iter().map(|(_, parameter)| parameter).collect();
        let values: Vec<Tensor> = all.iter().map(Parameter::get).collect();
        realize(&values.iter().collect::<Vec<_>>())?;
        for (parameter, value) in all.into_iter().zip(values) {
            parameter.set(value.detach()?);
            if parameter.is_trained() {
                let zeros = (0..count).map(|_| value.zeros_like()).collect::<crate::Result<_>>()?;
                state.trained.push((parameter, zeros));
            } else {
                state.untrained.push(parameter);
            }
        }
        Ok(state)
    }

    /// One step, with derivatives whose norm is at most `clip`: `change` gives a new parameter and what is kept, of the parameter, its derivative and what was kept.
    fn step(
        &mut self,
        loss: &Tensor,
        clip: Option<f32>,
        change: impl Fn(&Tensor, &Tensor, &[Tensor]) -> (Tensor, Vec<Tensor>),
    ) -> crate::Result<Tensor> {
        let values: Vec<Tensor> = self.trained.iter().map(|(parameter, _)| parameter.get()).collect();
        let (loss, derivatives) = value_and_grad(loss, &values.iter().collect::<Vec<_>>());
        let derivatives = match clip {
            Some(most) => clipped(&derivatives, most),
            None => derivatives,
        };
        let trained = self.trained.iter().zip(values.iter().zip(&derivatives));
        let changed: Vec<_> = trained.map(|((_, kept), (x, dx))| change(x, dx, kept)).collect();
        let untrained: Vec<Tensor> = self.untrained.iter().map(Parameter::get).collect();
        let mut all = vec![&loss];
        changed.iter().for_each(|(x, kept)| all.extend(std::iter::once(x).chain(kept)));
        all.extend(&untrained);
        realize(&all)?;
        for ((parameter, kept), (x, new)) in self.trained.iter_mut().zip(&changed) {
            parameter.set(x.detach()?);
            *kept = new.iter().map(Tensor::detach).collect::<crate::Result<_>>()?;
        }
        for (parameter, value) in self.untrained.iter().zip(&untrained) {
            parameter.set(value.detach()?);
        }
        self.steps += 1;
        loss.detach()
    }
}

/// Derivatives, all by one factor shorter if their norm is more than this: Pascanu, Mikolov, Bengio, On the difficulty of training recurrent neural networks, 2013.
fn clipped(derivatives: &[Tensor], most: f32) -> Vec<Tensor> {
    let squares = derivatives.iter().map(|dx| dx.to(Scalar::F32).square().sum_all());
    let Some(square) = squares.reduce(|a, b| a + b) else { return vec![] };
    let most = square.device().scalar(most);
    let factor = (most / (square.sqrt() + 1e-6)).minimum(1.0);
    derivatives.iter().map(|dx| dx * factor.to(dx.dtype())).collect()
}
